import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'
import { Filters } from '../parts/filters.js'
import { Listing } from '../parts/listing.js'
import { numberText, State, When } from '../parts/texts.js'

/** @import { Webhook } from '../records.ts' */

/**
 * The webhooks of all accounts, or of one.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function WebhooksView({ query }) {
  const { fields, views, webhook: text } = words.console
  return html`
    <h2>${views.webhooks}</h2>
    <${Filters} here=${['webhooks']} query=${query} filters=${[{ name: 'account' }]} />
    <${Listing}
      label=${views.webhooks}
      source="webhooks"
      query=${{ limit: '50', ...query }}
      here=${['webhooks']}
      everyMs=${5_000}
      rowKey=${(/** @type {Webhook} */ webhook) => webhook.webhook_id}
      columns=${[
        {
          title: fields.webhook,
          cell: (/** @type {Webhook} */ { webhook_id: id, account }) =>
            html`<a href=${linkTo(['webhooks', id], { account })}><code>${id}</code></a>`,
        },
        {
          title: fields.account,
          cell: (/** @type {Webhook} */ { account }) =>
            html`<a href=${linkTo(['accounts', account])}>${account}</a>`,
        },
        {
          title: fields.url,
          cell: (/** @type {Webhook} */ { url }) => html`<span class="break">${url}</span>`,
        },
        {
          title: fields.status,
          cell: (/** @type {Webhook} */ webhook) => html`<${State} is=${webhookState(webhook)} />`,
        },
        {
          title: text.pending,
          isNumber: true,
          cell: (/** @type {Webhook} */ { pending }) => numberText(pending),
        },
        {
          title: text.failingSince,
          cell: (/** @type {Webhook} */ webhook) => html`<${When} at=${webhook.failing_since} />`,
        },
      ]}
    />
  `
}

/**
 * Returns the state of a webhook: `failing` where it is active and its tries fail.
 * @param {Webhook} webhook
 */
export function webhookState({ status, failing_since: failing }) {
  return status === 'active' && failing ? 'failing' : status
}
