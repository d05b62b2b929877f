import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'
import { useAdmin } from '../admin.js'
import { Act } from '../parts/act.js'

/** @import { BulkResult, DryRun } from '../records.ts' */

/** How many rows one request changes at most. */
const limit = 100

/** @param {DryRun} prepared */
function idsOf({ would_retry: retry, would_cancel: cancel, would_redeliver: redeliver }) {
  return retry ?? cancel ?? redeliver ?? []
}

/**
 * A change of many rows: a dry run first, and then a result for each.
 * @param {{
 *   readonly label: string,
 *   readonly title: string,
 *   readonly path: string,
 *   readonly body: object,
 *   readonly isDanger?: boolean,
 *   readonly onDone: () => void,
 * }} props
 */
export function BulkAct({ label, title, path, body, isDanger, onDone }) {
  const admin = useAdmin()
  const send = (/** @type {boolean} */ dry) =>
    admin.change('POST', path, { ...body, dry_run: dry, limit })
  const text = words.console.bulk
  return html`<${Act}
    label=${label}
    title=${title}
    isDanger=${isDanger}
    prepare=${() => send(true)}
    isEmpty=${(/** @type {DryRun} */ prepared) => idsOf(prepared).length === 0}
    text=${(/** @type {DryRun} */ prepared) => html`
      <p>${text.would(idsOf(prepared).length)}</p>
      <ul class="ids">
        ${idsOf(prepared).map((id) => html`<li key=${id}><code>${id}</code></li>`)}
      </ul>
    `}
    run=${() => send(false)}
    done=${resultOf}
    onDone=${onDone}
  />`
}

/** @param {BulkResult} result */
function resultOf({ retried, cancelled, redelivered, refused }) {
  const text = words.console.bulk
  const done = retried?.map((each) => each.task_id) ?? cancelled ?? redelivered ?? []
  return html`
    <p>${text.done(done.length)}</p>
    <ul class="ids">
      ${retried?.map(
        ({ task_id: id, retry_of: of }) => html`
          <li key=${id}>
            <code>${of}</code> → <a href=${linkTo(['tasks', id])}><code>${id}</code></a>
          </li>
        `,
      )}
      ${refused.map(
        ({ task_id: task, delivery_id: delivery, message }) => html`
          <li key=${task ?? delivery}><code>${task ?? delivery}</code> ${message}</li>
        `,
      )}
    </ul>
  `
}

/**
 * Retry and cancel of what the filters of the task list name.
 * @param {{ readonly query: Readonly<Record<string, string>>, readonly onDone: () => void }} props
 */
export function BulkActs({ query, onDone }) {
  const {
    account,
    failure_code: code,
    model,
    status,
    created_after: from,
    created_before: to,
  } = query
  const filter = { account, model, created_after: from, created_before: to }
  const text = words.console.bulk
  // A key names one task at most, which has its own buttons.
  if (query['idempotency_key']) return null
  return html`
    ${
      (!status || status === 'failed') &&
      html`<${BulkAct}
        label=${text.retry}
        title=${text.retryTitle}
        path="tasks/retry"
        body=${{ filter: { ...filter, failure_code: code } }}
        onDone=${onDone}
      />`
    }
    ${
      (!status || status === 'queued' || status === 'processing') &&
      !code &&
      html`<${BulkAct}
        label=${text.cancel}
        title=${text.cancelTitle}
        path="tasks/cancel"
        body=${{ filter: { ...filter, status } }}
        isDanger
        onDone=${onDone}
      />`
    }
  `
}
