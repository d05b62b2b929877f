import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from 'words'
import { readAccount } from './calls/api.js'
import { Engine } from './engine.js'
import { LanguageButtons } from '../shared/languageButtons.js'
import { isLive } from './calls/watchTask.js'

/** @import { Account } from './calls/api.js' */
/** @import { Tasks } from './results/useTasks.js' */

/**
 * Returns the account with its balance, which is read again when a task is accepted and when one ends.
 * @param {string} apiKey
 * @param {Account} opened
 * @param {Tasks['records']} records
 */
export function useAccount(apiKey, opened, records) {
  const [account, setAccount] = useState(opened)
  const all = Object.values(records)
  const moved = `${all.length} ${all.filter(isLive).length}`
  useEffect(() => {
    let current = true
    void readAccount(apiKey).then((answer) => {
      if (current && answer.ok) setAccount(answer.value)
      return undefined
    })
    return () => {
      current = false
    }
  }, [apiKey, moved])
  return account
}

/**
 * The head of the page: whose account it is, and its balance.
 * @param {{ readonly account: Account, readonly onSignOut: () => void }} props
 */
export function AccountBar({ account, onSignOut }) {
  const { name, credits } = account
  return html`
    <header class="bar">
      <h1 class="wordmark">Darkroom</h1>
      <${Engine} />
      <p class="balance">
        <span class="account-name soft">${name}</span>
        <b>${words.credits.count(credits.available)}</b>
        ${credits.held > 0 && html`<span class="soft">${words.credits.held(credits.held)}</span>`}
      </p>
      <a class="quiet" href="docs">${words.playground.reference}</a>
      <${LanguageButtons} />
      <button type="button" class="quiet" onClick=${onSignOut}>${words.signIn.forget}</button>
    </header>
  `
}
