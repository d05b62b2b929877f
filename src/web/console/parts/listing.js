import { html } from 'htm/preact'
import { useEffect } from 'preact/hooks'
import { words } from 'words'
import { go, goBack, linkTo, queryOf } from '../address.js'
import { useRead } from '../admin.js'
import { told } from './notices.js'
import { table } from './table.js'

/** @import { Reading } from '../admin.js' */
/** @import { Columns } from './table.js' */

/**
 * A list of the API: `source` is its path there, `here` that of the view, `kept` what else stands in the address. A new
 * `round` reads it again.
 * @template Row
 * @typedef {{
 *   readonly label: string,
 *   readonly source: string,
 *   readonly query: Readonly<Record<string, string | undefined>>,
 *   readonly here: readonly string[],
 *   readonly columns: Columns<Row>,
 *   readonly idOf: (row: Row) => string,
 *   readonly kept?: Readonly<Record<string, string | undefined>>,
 *   readonly everyMs?: number,
 *   readonly round?: number,
 *   readonly onRows?: (rows: readonly Row[]) => void,
 * }} List
 */

/**
 * Shows one page of a list, by the page and the filters in the address. No list counts its rows.
 * @template Row
 * @param {List<Row>} list
 */
export function listing(list) {
  return html`<${Listing} ...${list} />`
}

/**
 * @template Row
 * @param {List<Row>} props
 */
function Listing({ label, source, query, here, columns, idOf, kept, everyMs, round = 0, onRows }) {
  const path = `${source}${queryOf({ limit: '50', ...query })}`
  /** @type {Reading<{ readonly data: readonly Row[], readonly has_more: boolean }>} */
  const { value, failure, loading } = useRead(path, { everyMs, round })
  useEffect(() => {
    if (value) onRows?.(value.data)
  }, [value])
  const page = (/** @type {string | undefined} */ after) =>
    linkTo(here, { ...query, ...kept, after })
  const last = value?.has_more ? value.data.at(-1) : undefined
  const back = () => goBack(page(undefined))
  const next = () => last && go(page(idOf(last)), { isNextPage: true })
  return html`
    ${told(failure)}
    ${!value && loading && html`<p class="hint" role="status">${words.console.loading}</p>`}
    ${value && table({ label, columns, rows: value.data, idOf, busy: loading })}
    <nav class="actions pager" aria-label=${words.console.pages} hidden=${!last && !query['after']}>
      ${query['after'] && html`<button type="button" onClick=${back}>${words.console.previous}</button>`}
      ${last && html`<button type="button" onClick=${next}>${words.console.next}</button>`}
    </nav>
  `
}
