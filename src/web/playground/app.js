import { html, render } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from 'words'
import { readAccount, readModels } from './calls/api.js'
import { forgetAll, keep, recall } from '../shared/session.js'
import { SignIn } from '../shared/signIn.js'
import { Engine } from './engine.js'
import { Studio } from './studio.js'

/** @import { Account } from './calls/api.js' */
/** @import { Failure } from '../shared/callApi.js' */
/** @import { Model } from './form/models.js' */

/**
 * A key that the API accepted, with what it may use.
 * @typedef {{ readonly apiKey: string, readonly account: Account, readonly models: readonly [Model, ...Model[]] }} Access
 */

/** @type {Failure} */
const noModels = { status: 200, message: words.playground.noModels, mayRepeat: false }

/** The page: asks for an API key, and then shows the studio. */
function App() {
  const [access, setAccess] = useState(/** @type {Access | undefined} */ (undefined))
  const [failure, setFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  const [opening, setOpening] = useState(recall('key', '') !== '')

  async function open(/** @type {string} */ key) {
    setOpening(true)
    setFailure(undefined)
    const [account, models] = await Promise.all([readAccount(key), readModels(key)])
    setOpening(false)
    if (account.ok && models.ok) {
      const [first, ...others] = models.value.data
      if (first === undefined) return setFailure(noModels)
      keep('key', key)
      return setAccess({ apiKey: key, account: account.value, models: [first, ...others] })
    }
    const refused = account.ok ? models : account
    if (refused.ok) return undefined
    // Only a key that the API refused is forgotten. When the API is away, a reload tries the kept key again.
    if (refused.failure.status === 401) keep('key', undefined)
    return setFailure(refused.failure)
  }

  useEffect(() => {
    const key = recall('key', '')
    if (key !== '') void open(key)
  }, [])

  if (access === undefined) {
    const { title, text, key, keyHint, keyHintLocal } = words.playground
    const local = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname)
    return html`
      <${SignIn}
        title=${title}
        text=${text}
        label=${key}
        hint=${local ? keyHintLocal : keyHint}
        placeholder="sk-…"
        kept=${recall('key', '')}
        opening=${opening}
        failure=${failure}
        onKey=${open}
      >
        <${Engine} />
      <//>
    `
  }
  const signOut = () => {
    forgetAll()
    setAccess(undefined)
    setFailure(undefined)
  }
  return html`<${Studio} ...${access} onSignOut=${signOut} />`
}

const place = document.getElementById('app')
if (place !== null) {
  place.replaceChildren()
  render(html`<${App} />`, place)
}
