import { html } from 'htm/preact'
import { words } from 'words'
import { useRead } from '../admin.js'
import { told } from '../parts/notices.js'
import { table } from '../parts/table.js'
import {
  accountLink,
  link,
  nameIn,
  numberText,
  sinceText,
  state,
  taskLink,
  when,
} from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { QueueJson } from '../../../operations/overview.ts' */

/** Who waits, since when, and for what. */
export function QueueView() {
  /** @type {Reading<QueueJson>} */
  const { value, failure } = useRead('queue', { everyMs: 2_000 })
  return html`
    <h2>${words.console.views.queue}</h2>
    ${told(failure)} ${value && tablesOf(value)}
  `
}

/** @param {QueueJson} queue */
function tablesOf({ accounts, channels, data }) {
  const { fields, queue: text } = words.console
  return html`
    <div class="columns">
      <section>
        <h3>${text.accounts}</h3>
        ${table({
          label: text.accounts,
          rows: accounts,
          idOf: ({ account }) => account,
          columns: [
            [fields.account, ({ account }) => accountLink(account)],
            [text.waiting, ({ waiting }) => numberText(waiting), 'number'],
            [text.calling, ({ calling }) => numberText(calling), 'number'],
            [text.oldest, (line) => sinceText(line.oldest_created_at)],
          ],
        })}
      </section>
      <section>
        <h3>${text.channels}</h3>
        ${table({
          label: text.channels,
          rows: channels,
          idOf: ({ channel }) => channel,
          columns: [
            [fields.channel, ({ channel }) => link(channel, ['channels'])],
            [text.calling, (line) => numberText(line.in_flight), 'number'],
            [fields.status, (line) => state(stateOf(line))],
            [text.until, (line) => when(line.cooldown_until)],
          ],
        })}
      </section>
    </div>
    <section>
      <h3>${text.tasks}</h3>
      ${table({
        label: text.tasks,
        rows: data,
        idOf: (task) => task.task_id,
        columns: [
          [fields.task, (task) => taskLink(task.task_id)],
          [fields.account, ({ account }) => accountLink(account)],
          [fields.model, ({ model }) => model],
          [fields.status, ({ status }) => state(status)],
          [text.waits, (task) => sinceText(task.created_at)],
          [text.attempts, ({ attempts }) => numberText(attempts), 'number'],
          [text.waitsFor, (task) => nameIn(text.waitingFor, task.waiting_for)],
        ],
      })}
    </section>
  `
}

/** @param {QueueJson['channels'][number]} channel */
function stateOf({ paused, cooldown_until: until }) {
  if (paused) return 'paused'
  return until ? 'cooldown' : 'open'
}
