import { html } from 'htm/preact'
import { words } from 'words'
import { queryOf } from '../address.js'
import { useRead } from '../admin.js'
import { CsvButton } from '../parts/csv.js'
import { Filters, titleOf } from '../parts/filters.js'
import { Told } from '../parts/listing.js'
import { Table } from '../parts/table.js'
import { numberText } from '../parts/texts.js'
import { Tiles } from '../parts/tiles.js'

/** @import { Reading } from '../admin.js' */
/** @import { Usage } from '../records.ts' */

/** @typedef {Usage['data'][number]} Line */

const groups = ['account', 'key', 'model', 'channel', 'outcome', 'day']
const dayMs = 86_400_000

/**
 * What was used and spent, by any two groups, from the ledger.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function UsageView({ query }) {
  const { first = 'day', second = '', account, start_time: from, end_time: to } = query
  const today = Math.floor(Date.now() / dayMs)
  const by = [...new Set([first, second].filter(Boolean))]
  const path = `usage${queryOf({
    account,
    start_time: from ?? new Date((today - 29) * dayMs).toISOString(),
    end_time: to ?? new Date((today + 1) * dayMs).toISOString(),
    group_by: by.join(','),
  })}`
  /** @type {Reading<Usage>} */
  const { value, failure, loading } = useRead(path)
  const { usage: text, fields, views } = words.console
  const options = groups.map((name) => /** @type {const} */ ([name, titleOf(name)]))
  return html`
    <h2>${views.usage}</h2>
    <${Filters}
      here=${['usage']}
      query=${{ ...query, first }}
      filters=${[
        { name: 'first', options },
        { name: 'second', options: [['', text.none], ...options] },
        { name: 'account' },
        { name: 'start_time', isTime: true },
        { name: 'end_time', isTime: true },
      ]}
    />
    <${Told} failure=${failure} />
    ${
      value &&
      html`
        <${Tiles}
          tiles=${[
            [words.status.succeeded, numberText(value.total.tasks.succeeded)],
            [words.status.failed, numberText(value.total.tasks.failed)],
            [fields.credits, numberText(value.total.credits)],
            [text.difference, numberText(value.difference)],
          ]}
        />
        <div class="actions">
          <p class="hint">${text.hint}</p>
          <${CsvButton} path=${path} name="usage" />
        </div>
        <${Table}
          label=${views.usage}
          rows=${value.data}
          busy=${loading}
          rowKey=${(/** @type {Line} */ line) => by.map((name) => groupOf(line, name)).join(' ')}
          columns=${[
            ...by.map((name) => ({
              title: titleOf(name),
              cell: (/** @type {Line} */ line) => groupOf(line, name),
            })),
            {
              title: words.status.succeeded,
              isNumber: true,
              cell: (/** @type {Line} */ { tasks }) => numberText(tasks.succeeded),
            },
            {
              title: words.status.failed,
              isNumber: true,
              cell: (/** @type {Line} */ { tasks }) => numberText(tasks.failed),
            },
            {
              title: fields.credits,
              isNumber: true,
              cell: (/** @type {Line} */ { credits }) => numberText(credits),
            },
          ]}
          foot=${[
            text.total,
            ...by.slice(1).map(() => ''),
            numberText(value.total.tasks.succeeded),
            numberText(value.total.tasks.failed),
            numberText(value.total.credits),
          ]}
        />
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
  const values = { key, account, model, channel, outcome, day }
  return values[name] ?? '–'
}
