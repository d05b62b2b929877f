import { html } from 'htm/preact'
import { words } from 'words'
import { go, linkTo } from '../address.js'
import { useAdmin, useRead, useRound } from '../admin.js'
import { act } from '../parts/act.js'
import { listing } from '../parts/listing.js'
import { facts, told } from '../parts/notices.js'
import { accountLink, code, state, taskLink, when } from '../parts/texts.js'
import { BulkAct } from './bulk.js'
import { webhookState } from './webhooks.js'

/** @import { Ids } from './bulk.js' */
/** @import { Reading } from '../admin.js' */
/** @import { Columns } from '../parts/table.js' */
/** @import { DeliveryJson } from '../../../store/webhooks/deliveries.ts' */
/** @import { WebhookJson } from '../../../store/webhooks/webhookAdmin.ts' */

const statuses = /** @type {const} */ (['pending', 'delivered', 'failed'])

/**
 * One webhook with its deliveries and their tries.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props
 */
export function WebhookView({ id, query }) {
  const admin = useAdmin()
  const [round, again] = useRound()
  const { account, ...filters } = query
  /** @type {Reading<WebhookJson>} */
  const { value: webhook, failure } = useRead(`webhooks/${encodeURIComponent(id)}`, { round })
  const { fields, states, webhook: text } = words.console
  /** @type {Columns<DeliveryJson>} */
  const columns = [
    [fields.delivery, (delivery) => code(delivery.delivery_id)],
    [fields.event, ({ event }) => code(event)],
    [fields.task, (delivery) => taskLink(delivery.task_id)],
    [fields.status, ({ status }) => state(status)],
    [text.tries, triesOf],
    [
      '',
      ({ delivery_id: deliveryId }) =>
        act({
          label: text.redeliver,
          title: text.redeliverTitle(deliveryId),
          text: text.redeliverText,
          run: () => admin.change('POST', `deliveries/${deliveryId}/redeliver`),
          onDone: again,
        }),
    ],
  ]
  return html`
    <div class="heading">
      <h2>${fields.webhook}</h2>
      ${code(id)}
    </div>
    ${told(failure)}
    ${
      webhook &&
      facts([
        [fields.account, accountLink(webhook.account)],
        [fields.url, webhook.url],
        [fields.status, state(webhookState(webhook))],
        [text.failingSince, webhook.failing_since && when(webhook.failing_since)],
        [text.pending, String(webhook.pending)],
        [text.oldestPending, webhook.oldest_pending_at && when(webhook.oldest_pending_at)],
      ])
    }
    <div class="actions">
      <${BulkAct}
        label=${text.redeliverFailed}
        title=${text.redeliverFailedTitle}
        path=${`webhooks/${id}/redeliver`}
        bodyOf=${(/** @type {Ids} */ ids) => ({ status: 'failed', delivery_ids: ids })}
        onDone=${again}
      />
      ${
        webhook?.status === 'active' &&
        act({
          label: text.disable,
          title: text.disableTitle,
          text: text.disableText,
          run: () => admin.change('POST', `webhooks/${id}/disable`),
          onDone: again,
        })
      }
      ${act({
        label: text.remove,
        title: text.removeTitle,
        text: text.removeText,
        run: () => admin.change('DELETE', `webhooks/${id}`),
        onDone: () => go(linkTo(['webhooks'])),
      })}
    </div>
    <section aria-labelledby="deliveries">
      <h3 id="deliveries">${text.deliveries}</h3>
      ${listing({
        label: text.deliveries,
        source: `webhooks/${encodeURIComponent(id)}/deliveries`,
        query: filters,
        here: ['webhooks', id],
        kept: { account },
        filters: [{ name: 'status', options: statuses.map((each) => [each, states[each]]) }],
        everyMs: 3_000,
        round,
        columns,
        idOf: (delivery) => delivery.delivery_id,
      })}
    </section>
  `
}

/** @param {DeliveryJson} delivery */
function triesOf({ attempts, next_attempt_at: next }) {
  return html`
    ${attempts.map(
      ({ at, http_status: status, error }) =>
        html`<div key=${at}>${when(at)} ${code(status ? `HTTP ${status}` : error)}</div>`,
    )}
    ${next && html`<div class="soft">${words.console.webhook.next} ${when(next)}</div>`}
  `
}
