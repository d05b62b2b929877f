import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'
import { listing } from '../parts/listing.js'
import { accountLink, idLink, numberText, state, when } from '../parts/texts.js'

/** @import { Columns } from '../parts/table.js' */
/** @import { WebhookJson } from '../../../store/webhooks/webhookAdmin.ts' */

/**
 * The webhooks of all accounts, or of one.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function WebhooksView({ query }) {
  const { fields, views, webhook: text } = words.console
  /** @type {Columns<WebhookJson>} */
  const columns = [
    [
      fields.webhook,
      ({ webhook_id: id, account }) => idLink(id, linkTo(['webhooks', id], { account })),
    ],
    [fields.account, ({ account }) => accountLink(account)],
    [fields.url, ({ url }) => html`<span class="break">${url}</span>`],
    [fields.status, (webhook) => state(webhookState(webhook))],
    [text.pending, ({ pending }) => numberText(pending), 'number'],
    [text.failingSince, (webhook) => when(webhook.failing_since)],
  ]
  return html`
    <h2>${views.webhooks}</h2>
    ${listing({
      label: views.webhooks,
      source: 'webhooks',
      query,
      here: ['webhooks'],
      filters: [{ name: 'account' }],
      everyMs: 5_000,
      columns,
      idOf: (webhook) => webhook.webhook_id,
    })}
  `
}

/**
 * Returns the state of a webhook: `failing` where it is active and its tries fail.
 * @param {WebhookJson} webhook
 */
export function webhookState({ status, failing_since: failing }) {
  return status === 'active' && failing ? 'failing' : status
}
