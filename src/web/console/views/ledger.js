import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo, queryOf } from '../address.js'
import { CsvButton } from '../parts/csv.js'
import { Filters } from '../parts/filters.js'
import { Listing } from '../parts/listing.js'
import { numberText, When } from '../parts/texts.js'

/** @import { LedgerEntry } from '../records.ts' */

/**
 * What moved the credits of an account, newest first.
 * @param {{
 *   readonly account: string,
 *   readonly query: Readonly<Record<string, string>>,
 *   readonly round: number,
 * }} props
 */
export function Ledger({ account, query, round }) {
  const { fields, ledger: text } = words.console
  const here = ['accounts', account]
  const { after: _after, ...window } = query
  /** @type {Readonly<Record<string, string>>} */
  const kinds = text.kinds
  return html`
    <section aria-labelledby="ledger">
      <div class="heading">
        <h3 id="ledger">${text.title}</h3>
        <${CsvButton}
          path=${`ledger${queryOf({ account, ...window })}`}
          name=${`ledger-${account}`}
        />
      </div>
      <${Filters}
        here=${here}
        query=${query}
        filters=${[
          { name: 'start_time', isTime: true },
          { name: 'end_time', isTime: true },
        ]}
      />
      <${Listing}
        label=${text.title}
        source="ledger"
        query=${{ account, ...query }}
        here=${here}
        round=${round}
        rowKey=${(/** @type {LedgerEntry} */ entry) => entry.entry_id}
        columns=${[
          {
            title: fields.at,
            cell: (/** @type {LedgerEntry} */ entry) => html`<${When} at=${entry.created_at} />`,
          },
          {
            title: fields.kind,
            cell: (/** @type {LedgerEntry} */ entry) => kinds[entry.kind] ?? entry.kind,
          },
          {
            title: fields.credits,
            isNumber: true,
            cell: (/** @type {LedgerEntry} */ entry) => numberText(entry.credits),
          },
          {
            title: text.why,
            cell: (/** @type {LedgerEntry} */ { task_id: id, topup_id: topUp }) =>
              id
                ? html`<a href=${linkTo(['tasks', id])}><code>${id}</code></a>`
                : topUp && html`<code>${topUp}</code>`,
          },
          { title: fields.model, cell: (/** @type {LedgerEntry} */ entry) => entry.model },
          {
            title: fields.key,
            cell: (/** @type {LedgerEntry} */ entry) =>
              entry.key_id && html`<code>${entry.key_id}</code>`,
          },
        ]}
      />
    </section>
  `
}
