import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { keep } from '../../shared/session.js'
import { linkTo } from '../address.js'
import { csvText, save } from '../parts/csv.js'
import { Filters } from '../parts/filters.js'
import { Listing } from '../parts/listing.js'
import { State, When } from '../parts/texts.js'
import { BulkActs } from './bulk.js'

/** @import { Task } from '../records.ts' */

const everyMs = 3_000
const pageTasks = '50'
const statuses = /** @type {const} */ (['queued', 'processing', 'succeeded', 'failed', 'expired'])

/**
 * The tasks that the filters name, live while one looks.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function TasksView({ query }) {
  const [rows, setRows] = useState(/** @type {readonly Task[]} */ ([]))
  const [round, setRound] = useState(0)
  const { after: _after, ...filters } = query
  const listed = (/** @type {readonly Task[]} */ tasks) => {
    setRows(tasks)
    // The view of one task leads to the next and the previous one.
    keep(
      'listed',
      tasks.map(({ task_id: id }) => id),
    )
  }
  return html`
    <h2>${words.console.views.tasks}</h2>
    <${Filters}
      here=${['tasks']}
      query=${query}
      filters=${[
        { name: 'account' },
        {
          name: 'status',
          options: [
            ['', words.console.any],
            ...statuses.map((each) => /** @type {const} */ ([each, words.status[each]])),
          ],
        },
        { name: 'model' },
        { name: 'failure_code' },
        { name: 'idempotency_key' },
        { name: 'created_after', isTime: true },
        { name: 'created_before', isTime: true },
      ]}
    />
    <div class="actions">
      <${BulkActs} query=${filters} onDone=${() => setRound((now) => now + 1)} />
      <button type="button" onClick=${() => save('tasks.csv', new Blob([tasksCsv(rows)]))}>
        ${words.console.csv}
      </button>
    </div>
    <${Listing}
      label=${words.console.views.tasks}
      source="tasks"
      query=${{ limit: pageTasks, ...query }}
      here=${['tasks']}
      columns=${taskColumns(filters)}
      rowKey=${(/** @type {Task} */ task) => task.task_id}
      everyMs=${everyMs}
      round=${round}
      onRows=${listed}
    />
  `
}

/** @param {Readonly<Record<string, string>>} filters */
function taskColumns(filters) {
  const { fields } = words.console
  return [
    {
      title: fields.task,
      cell: (/** @type {Task} */ { task_id: id }) =>
        html`<a href=${linkTo(['tasks', id], filters)}><code>${id}</code></a>`,
    },
    {
      title: fields.account,
      cell: (/** @type {Task} */ { account }) =>
        html`<a href=${linkTo(['accounts', account])}>${account}</a>`,
    },
    { title: fields.model, cell: (/** @type {Task} */ { model }) => model },
    {
      title: fields.status,
      cell: (/** @type {Task} */ { status, progress }) => html`
        <${State} is=${status}>
          ${status === 'processing' ? words.console.processing(progress) : undefined}
        <//>
      `,
    },
    {
      title: fields.failure_code,
      cell: (/** @type {Task} */ { error }) => error && html`<code>${error.code}</code>`,
    },
    {
      title: fields.created_at,
      cell: (/** @type {Task} */ { created_at: at }) => html`<${When} at=${at} />`,
    },
  ]
}

/** @param {readonly Task[]} tasks */
function tasksCsv(tasks) {
  const head = [
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
  return csvText([head, ...rows, ['total', tasks.length]])
}
