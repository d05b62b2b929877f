import { html } from 'htm/preact'
import { words } from 'words'
import { keep } from '../../shared/session.js'
import { queryOf } from '../address.js'
import { useRound } from '../admin.js'
import { CsvButton } from '../parts/ask.js'
import { listing } from '../parts/listing.js'
import { accountLink, code, percentText, state, taskLink, when } from '../parts/texts.js'
import { bulkActs } from './bulk.js'

/** @import { Columns } from '../parts/table.js' */
/** @import { TaskRow } from '../../../operations/tasks.ts' */

const statuses = /** @type {const} */ (['queued', 'processing', 'succeeded', 'failed', 'expired'])

/**
 * The tasks that the filters name, live while one looks.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function TasksView({ query }) {
  const [round, again] = useRound()
  const { after: _after, ...filters } = query
  const { fields, views, processing } = words.console
  /** @type {Columns<TaskRow>} */
  const columns = [
    [fields.task, (task) => taskLink(task.task_id, filters)],
    [fields.account, (task) => accountLink(task.account)],
    [fields.model, (task) => task.model],
    [
      fields.status,
      ({ status, progress }) =>
        state(status, status === 'processing' ? processing(percentText(progress)) : undefined),
    ],
    [fields.failure_code, (task) => code(task.error?.code)],
    [fields.created_at, (task) => when(task.created_at)],
  ]
  return html`
    <h2>${views.tasks}</h2>
    ${listing({
      label: views.tasks,
      source: 'tasks',
      query,
      here: ['tasks'],
      filters: [
        { name: 'account' },
        { name: 'status', options: statuses.map((each) => [each, words.status[each]]) },
        { name: 'model' },
        { name: 'failure_code' },
        { name: 'idempotency_key' },
        { name: 'created_after', isTime: true },
        { name: 'created_before', isTime: true },
      ],
      tools: html`<div class="actions">
        ${bulkActs(filters, again)}
        <${CsvButton} path=${`tasks${queryOf({ limit: '50', ...query })}`} name="tasks" />
      </div>`,
      everyMs: 3_000,
      round,
      columns,
      idOf: (task) => task.task_id,
      // The view of one task leads to the next and the previous one.
      onRows: (tasks) => {
        const ids = tasks.map(({ task_id: id }) => id)
        keep('listed', ids)
      },
    })}
  `
}
