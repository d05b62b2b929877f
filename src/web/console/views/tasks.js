import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { keep } from '../../shared/session.js'
import { useRound } from '../admin.js'
import { csvText, save } from '../parts/csv.js'
import { filtersOf } from '../parts/filters.js'
import { listing } from '../parts/listing.js'
import { accountLink, code, state, taskLink, when } from '../parts/texts.js'
import { bulkActs } from './bulk.js'

/** @import { TaskRow } from '../../../operations/tasks.ts' */

const statuses = /** @type {const} */ (['queued', 'processing', 'succeeded', 'failed', 'expired'])

/**
 * The tasks that the filters name, live while one looks.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function TasksView({ query }) {
  const [rows, setRows] = useState(/** @type {readonly TaskRow[]} */ ([]))
  const [round, again] = useRound()
  const { after: _after, ...filters } = query
  const { fields, views, processing } = words.console
  const here = ['tasks']
  return html`
    <h2>${views.tasks}</h2>
    ${filtersOf({
      here,
      query,
      filters: [
        { name: 'account' },
        { name: 'status', options: statuses.map((each) => [each, words.status[each]]) },
        { name: 'model' },
        { name: 'failure_code' },
        { name: 'idempotency_key' },
        { name: 'created_after', isTime: true },
        { name: 'created_before', isTime: true },
      ],
    })}
    <div class="actions">
      ${bulkActs(filters, again)}
      <button type="button" onClick=${() => save('tasks.csv', new Blob([tasksCsv(rows)]))}>
        ${words.console.csv}
      </button>
    </div>
    ${listing({
      label: views.tasks,
      source: 'tasks',
      query,
      here,
      everyMs: 3_000,
      round,
      onRows: (/** @type {readonly TaskRow[]} */ tasks) => {
        setRows(tasks)
        // The view of one task leads to the next and the previous one.
        keep(
          'listed',
          tasks.map(({ task_id: id }) => id),
        )
      },
      idOf: (task) => task.task_id,
      columns: [
        [fields.task, (task) => taskLink(task.task_id, filters)],
        [fields.account, (task) => accountLink(task.account)],
        [fields.model, (task) => task.model],
        [
          fields.status,
          ({ status, progress }) =>
            state(status, status === 'processing' ? processing(progress) : undefined),
        ],
        [fields.failure_code, (task) => code(task.error?.code)],
        [fields.created_at, (task) => when(task.created_at)],
      ],
    })}
  `
}

/** @param {readonly TaskRow[]} tasks */
function tasksCsv(tasks) {
  const names = [
    'task_id',
    'account',
    'key_id',
    'model',
    'status',
    'failure_code',
    'created_at',
    'completed_at',
  ]
  const rows = tasks.map((task) => [
    task.task_id,
    task.account,
    task.key_id,
    task.model,
    task.status,
    task.error?.code,
    task.created_at,
    task.completed_at,
  ])
  return csvText([names, ...rows, ['total', tasks.length]])
}
