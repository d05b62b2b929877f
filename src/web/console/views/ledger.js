import { html } from 'htm/preact'
import { words } from 'words'
import { queryOf } from '../address.js'
import { CsvButton } from '../parts/ask.js'
import { listing } from '../parts/listing.js'
import { code, nameIn, numberText, taskLink, when } from '../parts/texts.js'

/** @import { Columns } from '../parts/table.js' */
/** @import { Entry } from '../../../store/operator/listEntries.ts' */

/**
 * What moved the credits of an account, newest first.
 * @param {string} account
 * @param {Readonly<Record<string, string>>} query
 * @param {number} round
 */
export function ledgerOf(account, query, round) {
  const { fields, ledger: text } = words.console
  const { after: _after, ...window } = query
  /** @type {Columns<Entry>} */
  const columns = [
    [fields.at, (entry) => when(entry.created_at)],
    [fields.kind, ({ kind }) => nameIn(text.kinds, kind)],
    [fields.credits, ({ credits }) => numberText(credits), 'number'],
    [text.why, (entry) => (entry.task_id ? taskLink(entry.task_id) : code(entry.topup_id))],
    [fields.model, ({ model }) => model],
    [fields.key, (entry) => code(entry.key_id)],
  ]
  return html`
    <section aria-labelledby="ledger">
      <div class="heading">
        <h3 id="ledger">${text.title}</h3>
        <${CsvButton}
          path=${`ledger${queryOf({ account, ...window })}`}
          name=${`ledger-${account}`}
        />
      </div>
      ${listing({
        label: text.title,
        source: 'ledger',
        given: { account },
        query,
        here: ['accounts', account],
        filters: [
          { name: 'start_time', isTime: true },
          { name: 'end_time', isTime: true },
        ],
        round,
        columns,
        idOf: (entry) => String(entry.entry_id),
      })}
    </section>
  `
}
