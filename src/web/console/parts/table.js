import { html } from 'htm/preact'
import { words } from 'words'

/** @import { ComponentChildren } from 'preact' */

/**
 * @template Row
 * @typedef {{
 *   readonly title: string,
 *   readonly cell: (row: Row) => ComponentChildren,
 *   readonly isNumber?: boolean,
 * }} Column
 */

/**
 * Rows as a table, and on a phone as cards. The roles are written out, because the style of a card would take them away.
 * @template Row
 * @param {{
 *   readonly label: string,
 *   readonly columns: readonly Column<Row>[],
 *   readonly rows: readonly Row[],
 *   readonly rowKey: (row: Row) => string,
 *   readonly busy?: boolean,
 *   readonly foot?: readonly ComponentChildren[],
 * }} props `foot` is a last row with totals
 */
export function Table({ label, columns, rows, rowKey, busy, foot }) {
  if (rows.length === 0) return html`<p class="hint">${words.console.nothing}</p>`
  const row = (
    /** @type {readonly ComponentChildren[]} */ cells,
    /** @type {string} */ key,
  ) => html`
    <tr role="row" key=${key}>
      ${columns.map(
        ({ title, isNumber }, i) =>
          html`<td role="cell" key=${title} data-label=${title} class=${isNumber ? 'number' : ''}>
            ${cells[i]}
          </td>`,
      )}
    </tr>
  `
  return html`
    <div class="scroll" aria-busy=${busy ?? false}>
      <table role="table" aria-label=${label}>
        <thead role="rowgroup">
          <tr role="row">
            ${columns.map(
              ({ title, isNumber }) =>
                html`<th role="columnheader" key=${title} class=${isNumber ? 'number' : ''}>
                  ${title}
                </th>`,
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map((each) =>
            row(
              columns.map(({ cell }) => cell(each)),
              rowKey(each),
            ),
          )}
        </tbody>
        ${
          foot &&
          html`<tfoot role="rowgroup">
            ${row(foot, 'foot')}
          </tfoot>`
        }
      </table>
    </div>
  `
}
