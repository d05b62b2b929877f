import { html } from 'htm/preact'
import { useEffect } from 'preact/hooks'
import { words } from 'words'
import { linkTo, queryOf } from '../address.js'
import { useRead } from '../admin.js'
import { filtersOf } from './filters.js'
import { told } from './notices.js'
import { table } from './table.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Reading } from '../admin.js' */
/** @import { Filter } from './filters.js' */
/** @import { Columns } from './table.js' */

/**
 * A list of the API: `source` is its path there, `here` that of the view, `query` what its filters and its page say,
 * `kept` what else stands in the address. A new `round` reads it again.
 * @template Row
 * @typedef {{
 *   readonly label: string,
 *   readonly source: string,
 *   readonly query: Readonly<Record<string, string>>,
 *   readonly here: readonly string[],
 *   readonly columns: Columns<Row>,
 *   readonly idOf: (row: Row) => string,
 *   readonly filters: readonly Filter[],
 *   readonly given?: Readonly<Record<string, string>>,
 *   readonly kept?: Readonly<Record<string, string | undefined>>,
 *   readonly tools?: ComponentChildren,
 *   readonly everyMs?: number,
 *   readonly round?: number,
 *   readonly onRows?: (rows: readonly Row[]) => void,
 * }} List `given` is what the API is told besides, and `tools` stand between the filters and the table
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
function Listing({ label, source, here, columns, idOf, filters, kept, tools, onRows, ...list }) {
  const { query, given, everyMs, round = 0 } = list
  const path = `${source}${queryOf({ limit: '50', ...given, ...query })}`
  /** @type {Reading<{ readonly data: readonly Row[], readonly has_more: boolean }>} */
  const { value, failure, loading } = useRead(path, { everyMs, round })
  useEffect(() => {
    if (value) onRows?.(value.data)
  }, [value])
  const page = (/** @type {string | undefined} */ after) =>
    linkTo(here, { ...query, ...kept, after })
  const last = value?.has_more ? value.data.at(-1) : undefined
  return html`
    ${filtersOf({ here, query, kept, filters })} ${tools} ${told(failure)}
    ${!value && loading && html`<p class="hint" role="status">${words.console.loading}</p>`}
    ${value && table({ label, columns, rows: value.data, idOf, busy: loading })}
    <nav class="actions pager" aria-label=${words.console.pages} hidden=${!last && !query['after']}>
      ${query['after'] && html`<a class="button" href=${page(undefined)}>${words.console.first}</a>`}
      ${last && html`<a class="button" href=${page(idOf(last))}>${words.console.next}</a>`}
    </nav>
  `
}
