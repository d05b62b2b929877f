import { html, render } from 'htm/preact'
import { words } from 'words'
import { readAccount, readModels } from './calls/api.js'
import { SignIn } from '../shared/signIn.js'
import { useKey } from '../shared/useKey.js'
import { Engine } from './engine.js'
import { Studio } from './studio.js'

/** @import { Account } from './calls/api.js' */
/** @import { Answer, Failure } from '../shared/callApi.js' */
/** @import { Model } from './form/models.js' */

/**
 * A key that the API accepted, with what it may use.
 * @typedef {{ readonly apiKey: string, readonly account: Account, readonly models: readonly [Model, ...Model[]] }} Access
 */

/** @type {Failure} */
const noModels = { status: 200, message: words.playground.noModels, mayRepeat: false }

/**
 * @param {string} apiKey
 * @returns {Promise<Answer<Access>>}
 */
async function openStudio(apiKey) {
  const [account, models] = await Promise.all([readAccount(apiKey), readModels(apiKey)])
  if (!account.ok) return account
  if (!models.ok) return models
  const [first, ...others] = models.value.data
  if (first === undefined) return { ok: false, failure: noModels }
  return { ...account, value: { apiKey, account: account.value, models: [first, ...others] } }
}

/** The page: asks for an API key, and then shows the studio. */
function App() {
  const { opened, signIn, signOut } = useKey('key', openStudio)
  if (opened !== undefined) {
    return html`<${Studio} ...${opened} onSignOut=${() => signOut(undefined)} />`
  }
  const { title, text, key, keyHint, keyHintLocal } = words.playground
  const local = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname)
  return html`
    <${SignIn}
      title=${title}
      text=${text}
      label=${key}
      hint=${local ? keyHintLocal : keyHint}
      placeholder="sk-…"
      ...${signIn}
    >
      <${Engine} />
    <//>
  `
}

const place = document.getElementById('app')
if (place !== null) {
  place.replaceChildren()
  render(html`<${App} />`, place)
}
