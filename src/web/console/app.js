import { html, render } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import { words } from 'words'
import { LanguageButtons } from '../shared/languageButtons.js'
import { SignIn } from '../shared/signIn.js'
import { useKey } from '../shared/useKey.js'
import { go, linkTo, useAddress } from './address.js'
import { AdminProvider, openAdmin } from './admin.js'
import { AccountView } from './views/account.js'
import { AccountsView } from './views/accounts.js'
import { AuditView } from './views/audit.js'
import { ChannelsView } from './views/channels.js'
import { FindView } from './views/find.js'
import { OverviewView } from './views/overview.js'
import { QueueView } from './views/queue.js'
import { TaskView } from './views/task.js'
import { TasksView } from './views/tasks.js'
import { UsageView } from './views/usage.js'
import { WebhookView } from './views/webhook.js'
import { WebhooksView } from './views/webhooks.js'

/** @import { Address } from './address.js' */
/** @import { Admin } from './admin.js' */

/** The views in the order of the menu, each with the view of one of its rows. */
const views = {
  overview: [OverviewView],
  tasks: [TasksView, TaskView],
  queue: [QueueView],
  accounts: [AccountsView, AccountView],
  channels: [ChannelsView],
  webhooks: [WebhooksView, WebhookView],
  usage: [UsageView],
  audit: [AuditView],
}

/** The console: asks for an admin key, and then shows the view that the address names. */
function App() {
  const { opened, signIn, signOut } = useKey('adminKey', openAdmin)
  if (opened === undefined) {
    const { title, text, key, keyHint } = words.console.signIn
    return html`<${SignIn} title=${title} text=${text} label=${key} hint=${keyHint} ...${signIn} />`
  }
  return html`<${AdminProvider} value=${opened}>
    <${Console} admin=${opened} onSignOut=${() => signOut(undefined)} />
  <//>`
}

/** @param {{ readonly admin: Admin, readonly onSignOut: () => void }} props */
function Console({ admin, onSignOut }) {
  const address = useAddress()
  const main = useRef(/** @type {HTMLElement | null} */ (null))
  const [name = 'overview', id] = address.path
  const shown = JSON.stringify(address.path)
  const first = useRef(shown)
  useEffect(() => {
    document.title = `${[id, titleOf(name)].filter(Boolean).join(' · ')} · Darkroom`
    const current = document.querySelector('.views [aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
    // A new view is read from its beginning, also by a screen reader.
    if (first.current === shown) return
    first.current = ''
    main.current?.focus()
    scrollTo(0, 0)
  }, [shown])
  return html`
    <header class="bar">
      <h1 class="wordmark">Darkroom</h1>
      <${Find} />
      <p class="balance">
        <span class="soft">${admin.keyId}</span>
        <b>${admin.isOperator ? words.console.operator : words.console.viewer}</b>
      </p>
      <${LanguageButtons} />
      <button type="button" class="quiet" onClick=${onSignOut}>${words.signIn.forget}</button>
    </header>
    <nav class="views" aria-label=${words.console.menu}>
      ${Object.keys(views).map(
        (each) =>
          html`<a
            key=${each}
            href=${linkTo([each])}
            aria-current=${each === name ? 'page' : undefined}
          >
            ${titleOf(each)}
          </a>`,
      )}
    </nav>
    <main class="page console" ref=${main} tabindex="-1">${viewOf(address)}</main>
  `
}

/** @param {Address} address */
function viewOf({ path, query }) {
  const [name = 'overview', id] = path
  if (name === 'find') return html`<${FindView} query=${query} />`
  const [List, One] = Object.entries(views).find(([each]) => each === name)?.[1] ?? []
  if (List === undefined) return html`<p>${words.console.noView}</p>`
  if (id !== undefined && One) return html`<${One} key=${id} id=${id} query=${query} />`
  return html`<${List} key=${name} query=${query} />`
}

/** @param {string} name */
function titleOf(name) {
  /** @type {Readonly<Record<string, string>>} */
  const titles = words.console.views
  return titles[name] ?? name
}

/** Finds what any id that a customer quotes belongs to. */
function Find() {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    const id = input.current?.value.trim() ?? ''
    if (id === '' || input.current === null) return
    input.current.value = ''
    go(linkTo(['find'], { id }))
  }
  return html`
    <form class="find" role="search" onSubmit=${submit}>
      <input
        ref=${input}
        type="search"
        aria-label=${words.console.find}
        placeholder=${words.console.findHint}
        autocomplete="off"
        spellcheck=${false}
      />
    </form>
  `
}

const place = document.getElementById('app')
if (place !== null) {
  place.replaceChildren()
  render(html`<${App} />`, place)
}
