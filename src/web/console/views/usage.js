import { html } from 'htm/preact'
import { words } from 'words'
import { queryOf } from '../address.js'
import { useRead } from '../admin.js'
import { CsvButton } from '../parts/ask.js'
import { filtersOf } from '../parts/filters.js'
import { tiles, told } from '../parts/notices.js'
import { table } from '../parts/table.js'
import { nameIn, numberText } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { Columns } from '../parts/table.js' */
/** @import { UsageJson } from '../../../operations/countUsage.ts' */

/** @typedef {UsageJson['data'][number]} Line */

const groups = ['day', 'account', 'key', 'model', 'channel', 'outcome']
const dayMs = 86_400_000

/**
 * What was used and spent, by any two groups, from the ledger.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function UsageView({ query }) {
  const { first = 'day', second, account, start_time: from, end_time: to } = query
  const today = Math.floor(Date.now() / dayMs)
  const by = [...new Set([first, second ?? first])]
  const path = `usage${queryOf({
    account,
    // Before an end the API begins 30 days earlier.
    start_time: from ?? (to ? undefined : new Date((today - 29) * dayMs).toISOString()),
    end_time: to ?? new Date((today + 1) * dayMs).toISOString(),
    group_by: by.join(','),
  })}`
  /** @type {Reading<UsageJson>} */
  const { value, failure, loading } = useRead(path)
  const { usage: text, fields, views } = words.console
  const options = groups.map((name) => /** @type {const} */ ([name, nameIn(fields, name)]))
  /** @type {Columns<Line>} */
  const groupColumns = by.map((name) => [
    nameIn(fields, name),
    (line) => html`<span class="break">${groupOf(line, name)}</span>`,
  ])
  return html`
    <h2>${views.usage}</h2>
    ${filtersOf({
      here: ['usage'],
      query,
      filters: [
        { name: 'first', options, none: fields.day },
        { name: 'second', options, none: text.none },
        { name: 'account' },
        { name: 'start_time', isTime: true },
        { name: 'end_time', isTime: true },
      ],
    })}
    ${told(failure)}
    ${
      value &&
      html`
        ${tiles([
          [text.succeeded, numberText(value.total.tasks.succeeded)],
          [text.failed, numberText(value.total.tasks.failed)],
          [fields.credits, numberText(value.total.credits)],
          [text.difference, numberText(value.difference)],
        ])}
        <div class="actions">
          <${CsvButton} path=${path} name="usage" />
          <p class="hint">${text.hint}</p>
        </div>
        ${table({
          label: views.usage,
          rows: value.data,
          busy: loading,
          idOf: (line) => by.map((name) => groupOf(line, name)).join(' '),
          columns: [
            ...groupColumns,
            [text.succeeded, ({ tasks }) => numberText(tasks.succeeded), 'number'],
            [text.failed, ({ tasks }) => numberText(tasks.failed), 'number'],
            [fields.credits, ({ credits }) => numberText(credits), 'number'],
          ],
          foot: [
            text.total,
            ...by.slice(1).map(() => ''),
            numberText(value.total.tasks.succeeded),
            numberText(value.total.tasks.failed),
            numberText(value.total.credits),
          ],
        })}
      `
    }
  `
}

/**
 * @param {Line} line
 * @param {string} name
 */
function groupOf({ key_id: key, account, model, channel, outcome, day }, name) {
  /** @type {Readonly<Record<string, string | null | undefined>>} */
  const values = {
    key,
    account,
    model,
    channel,
    outcome: outcome && nameIn(words.status, outcome),
    day: day?.slice(0, 10),
  }
  return values[name] ?? '–'
}
