import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { go, linkTo, queryOf } from '../address.js'
import { useAdmin, useRead } from '../admin.js'
import { Act } from '../parts/act.js'
import { Filters } from '../parts/filters.js'
import { Listing, Told } from '../parts/listing.js'
import { State, When } from '../parts/texts.js'
import { Facts } from '../parts/tiles.js'
import { BulkAct } from './bulk.js'
import { webhookState } from './webhooks.js'

/** @import { Reading } from '../admin.js' */
/** @import { Delivery, Webhook } from '../records.ts' */

const statuses = /** @type {const} */ (['pending', 'delivered', 'failed'])

/**
 * One webhook with its deliveries and their tries.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props
 */
export function WebhookView({ id, query }) {
  const admin = useAdmin()
  const [round, setRound] = useState(0)
  const { account, ...filters } = query
  /** @type {Reading<{ readonly data: readonly Webhook[] }>} */
  const { value, failure, reload } = useRead(`webhooks${queryOf({ account, limit: '100' })}`)
  const webhook = value?.data.find((each) => each.webhook_id === id)
  const { fields, webhook: text } = words.console
  const here = ['webhooks', id]
  const changed = () => {
    reload()
    setRound((now) => now + 1)
  }
  return html`
    <div class="heading">
      <h2>${fields.webhook}</h2>
      <code class="break">${id}</code>
    </div>
    <${Told} failure=${failure} />
    ${
      webhook &&
      html`
        <${Facts}
          facts=${[
            [
              fields.account,
              html`<a href=${linkTo(['accounts', webhook.account])}>${webhook.account}</a>`,
            ],
            [fields.url, html`<span class="break">${webhook.url}</span>`],
            [fields.status, html`<${State} is=${webhookState(webhook)} />`],
            [
              text.failingSince,
              webhook.failing_since && html`<${When} at=${webhook.failing_since} />`,
            ],
            [text.pending, String(webhook.pending)],
            [
              text.oldestPending,
              webhook.oldest_pending_at && html`<${When} at=${webhook.oldest_pending_at} />`,
            ],
          ]}
        />
        <div class="actions">
          <${BulkAct}
            label=${text.redeliverFailed}
            title=${text.redeliverFailedTitle}
            path=${`webhooks/${encodeURIComponent(id)}/redeliver`}
            body=${{ status: 'failed' }}
            onDone=${changed}
          />
          ${
            webhook.status === 'active' &&
            html`<${Act}
              label=${text.disable}
              title=${text.disableTitle}
              text=${text.disableText}
              isDanger
              run=${() => admin.change('POST', `webhooks/${encodeURIComponent(id)}/disable`)}
              onDone=${changed}
            />`
          }
          <${Act}
            label=${text.remove}
            title=${text.removeTitle}
            text=${text.removeText}
            isDanger
            run=${() => admin.change('DELETE', `webhooks/${encodeURIComponent(id)}`)}
            onDone=${() => go(linkTo(['webhooks']))}
          />
        </div>
      `
    }
    <section aria-labelledby="deliveries">
      <h3 id="deliveries">${text.deliveries}</h3>
      <${Filters}
        here=${here}
        query=${filters}
        kept=${{ account }}
        filters=${[
          {
            name: 'status',
            options: [
              ['', words.console.any],
              ...statuses.map((each) => /** @type {const} */ ([each, words.console.states[each]])),
            ],
          },
        ]}
      />
      <${Listing}
        label=${text.deliveries}
        source=${`webhooks/${encodeURIComponent(id)}/deliveries`}
        query=${filters}
        here=${here}
        kept=${{ account }}
        everyMs=${3_000}
        round=${round}
        rowKey=${(/** @type {Delivery} */ delivery) => delivery.delivery_id}
        columns=${deliveryColumns(changed)}
      />
    </section>
  `
}

/** @param {() => void} onDone */
function deliveryColumns(onDone) {
  const { fields, webhook: text } = words.console
  return [
    {
      title: fields.delivery,
      cell: (/** @type {Delivery} */ delivery) => html`<code>${delivery.delivery_id}</code>`,
    },
    {
      title: fields.event,
      cell: (/** @type {Delivery} */ { event }) => html`<code>${event}</code>`,
    },
    {
      title: fields.task,
      cell: (/** @type {Delivery} */ { task_id: id }) =>
        id && html`<a href=${linkTo(['tasks', id])}><code>${id}</code></a>`,
    },
    {
      title: fields.status,
      cell: (/** @type {Delivery} */ { status }) => html`<${State} is=${status} />`,
    },
    {
      title: text.tries,
      cell: (/** @type {Delivery} */ { attempts, next_attempt_at: next }) => html`
        ${attempts.map(
          ({ at, http_status: status, error }) =>
            html`<div key=${at}>
              <${When} at=${at} /> <code>${status ? `HTTP ${status}` : error}</code>
            </div>`,
        )}
        ${next && html`<div class="soft">${text.next} <${When} at=${next} /></div>`}
      `,
    },
    {
      title: '',
      cell: (/** @type {Delivery} */ { delivery_id: id }) =>
        html`<${Redeliver} id=${id} onDone=${onDone} />`,
    },
  ]
}

/** @param {{ readonly id: string, readonly onDone: () => void }} props */
function Redeliver({ id, onDone }) {
  const admin = useAdmin()
  const text = words.console.webhook
  return html`<${Act}
    label=${text.redeliver}
    title=${text.redeliverTitle}
    text=${text.redeliverText}
    run=${() => admin.change('POST', `deliveries/${encodeURIComponent(id)}/redeliver`)}
    onDone=${onDone}
  />`
}
