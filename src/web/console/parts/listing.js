import { html } from 'htm/preact'
import { useEffect } from 'preact/hooks'
import { words } from 'words'
import { Notice } from '../../shared/notice.js'
import { go, goBack, linkTo, queryOf } from '../address.js'
import { useRead } from '../admin.js'
import { Table } from './table.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Failure } from '../../shared/callApi.js' */
/** @import { Column } from './table.js' */

/**
 * @template Row
 * @typedef {{ readonly data: readonly Row[], readonly has_more: boolean }} Page
 */

/**
 * One page of a list, by the page and the filters in the address. No list counts its rows.
 * @template Row
 * @param {{
 *   readonly label: string,
 *   readonly source: string,
 *   readonly query: Readonly<Record<string, string | undefined>>,
 *   readonly here: readonly string[],
 *   readonly kept?: Readonly<Record<string, string>>,
 *   readonly columns: readonly Column<Row>[],
 *   readonly rowKey: (row: Row) => string,
 *   readonly everyMs?: number,
 *   readonly round?: number,
 *   readonly onRows?: (rows: readonly Row[]) => void,
 * }} props `source` is the path of the list in the API, `here` that of the view, and `kept` what else stands in the
 * address. A new `round` reads the list again.
 */
export function Listing(props) {
  const { label, source, query, here, kept, columns, rowKey, everyMs, round = 0, onRows } = props
  /** @type {import('../admin.js').Reading<Page<Row>>} */
  const { value, failure, loading, reload } = useRead(`${source}${queryOf(query)}`, everyMs)
  useEffect(() => {
    if (round > 0) reload()
  }, [round])
  useEffect(() => {
    if (value) onRows?.(value.data)
  }, [value])
  const page = (/** @type {string | undefined} */ after) =>
    linkTo(here, { ...query, ...kept, after })
  const next = value?.has_more ? value.data.at(-1) : undefined
  return html`
    <${Told} failure=${failure} />
    ${!value && loading && html`<p class="hint" role="status">${words.console.loading}</p>`}
    ${
      value &&
      html`<${Table}
        label=${label}
        columns=${columns}
        rows=${value.data}
        rowKey=${rowKey}
        busy=${loading}
      />`
    }
    ${
      (next || query['after']) &&
      html`<nav class="actions pager" aria-label=${words.console.pages}>
        ${
          query['after'] &&
          html`<button type="button" onClick=${() => goBack(page(undefined))}>
            ${words.console.previous}
          </button>`
        }
        ${
          next &&
          html`<button type="button" onClick=${() => go(page(rowKey(next)), { isNextPage: true })}>
            ${words.console.next}
          </button>`
        }
      </nav>`
    }
  `
}

/**
 * Says why something could not be read or done.
 * @param {{ readonly failure: Failure | undefined, readonly title?: ComponentChildren }} props
 */
export function Told({ failure, title }) {
  return html`<div aria-live="polite">
    ${failure && html`<${Notice} title=${title ?? words.console.notRead} failure=${failure} />`}
  </div>`
}
