import { html } from 'htm/preact'
import { words } from 'words'
import { useAdmin } from '../admin.js'
import { act } from '../parts/act.js'
import { code, taskLink } from '../parts/texts.js'

/** @import { Answer } from '../../shared/callApi.js' */

/**
 * @typedef {readonly string[] | undefined} Ids what a dry run has named
 *
 * @typedef {{
 *   readonly would_retry?: readonly string[],
 *   readonly would_cancel?: readonly string[],
 *   readonly would_redeliver?: readonly string[],
 * }} DryRun
 *
 * @typedef {{
 *   readonly retried?: readonly { readonly task_id: string, readonly retry_of: string }[],
 *   readonly cancelled?: readonly string[],
 *   readonly redelivered?: readonly string[],
 *   readonly refused: readonly {
 *     readonly task_id?: string,
 *     readonly delivery_id?: string,
 *     readonly message: string,
 *   }[],
 * }} BulkResult
 */

/** How many rows one request changes at most. */
const limit = 100

/** @param {DryRun} prepared */
function idsOf({ would_retry: retry, would_cancel: cancel, would_redeliver: redeliver }) {
  return retry ?? cancel ?? redeliver ?? []
}

/**
 * A change of many rows: a dry run first, and then a result for each that it has named.
 * @param {{
 *   readonly label: string,
 *   readonly title: string,
 *   readonly path: string,
 *   readonly bodyOf: (ids: Ids) => object,
 *   readonly onDone: () => void,
 * }} props
 */
export function BulkAct({ label, title, path, bodyOf, onDone }) {
  const admin = useAdmin()
  const text = words.console.bulk
  const send = (/** @type {Ids} */ ids) =>
    admin.change('POST', path, { ...bodyOf(ids), dry_run: ids === undefined, limit })
  return act({
    label,
    title,
    onDone,
    /** @type {() => Promise<Answer<DryRun>>} */
    prepare: () => send(undefined),
    isEmpty: (prepared) => idsOf(prepared).length === 0,
    text: (prepared) => html`
      <p>${text.would(idsOf(prepared).length)}</p>
      <ul class="ids" tabindex="0">
        ${idsOf(prepared).map((id) => html`<li key=${id}>${code(id)}</li>`)}
      </ul>
    `,
    /** @type {(values: unknown, name: string, prepared?: DryRun) => Promise<Answer<BulkResult>>} */
    run: (_values, _name, prepared = {}) => send(idsOf(prepared)),
    done: ({ retried = [], cancelled = [], redelivered = [], refused }) => html`
      <p>${text.done(retried.length + cancelled.length + redelivered.length)}</p>
      <ul class="ids" tabindex="0">
        ${retried.map(({ task_id: id, retry_of: of }) => html`<li key=${id}>${code(of)} → ${taskLink(id)}</li>`)}
        ${refused.map(
          ({ task_id: task, delivery_id: delivery, message }) =>
            html`<li key=${task ?? delivery}>${code(task ?? delivery)} ${message}</li>`,
        )}
      </ul>
    `,
  })
}

/**
 * Retry and cancel of what the filters of the task list name.
 * @param {Readonly<Record<string, string>>} query
 * @param {() => void} onDone
 */
export function bulkActs(query, onDone) {
  const { failure_code: code, idempotency_key: key, status, ...filter } = query
  const text = words.console.bulk
  // A key names one task, which has buttons of its own.
  const mayRetry = !key && (!status || status === 'failed')
  const mayCancel = !key && !code && (!status || status === 'queued' || status === 'processing')
  return html`
    ${
      mayRetry &&
      html`<${BulkAct}
        label=${text.retry}
        title=${text.retryTitle}
        path="tasks/retry"
        bodyOf=${(/** @type {Ids} */ ids) => ({ filter: { ...filter, failure_code: code, task_ids: ids } })}
        onDone=${onDone}
      />`
    }
    ${
      mayCancel &&
      html`<${BulkAct}
        label=${text.cancel}
        title=${text.cancelTitle}
        path="tasks/cancel"
        bodyOf=${(/** @type {Ids} */ ids) => ({ filter: { ...filter, status, task_ids: ids } })}
        onDone=${onDone}
      />`
    }
  `
}
