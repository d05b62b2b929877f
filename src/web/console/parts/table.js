import { html } from 'htm/preact'
import { words } from 'words'

/** @import { ComponentChildren } from 'preact' */

/**
 * The columns of a table: title, what stands in a cell, and whether it is a number.
 * @template Row
 * @typedef {readonly (readonly [
 *   title: string,
 *   cell: (row: Row) => ComponentChildren,
 *   kind?: 'number',
 * ])[]} Columns
 */

/**
 * Shows rows as a table, and on a phone as cards. The roles are written out, because the style of a card would take them
 * away. `foot` is a last row with totals.
 * @template Row
 * @param {{
 *   readonly label: string,
 *   readonly rows: readonly Row[],
 *   readonly idOf: (row: Row) => string,
 *   readonly columns: Columns<Row>,
 *   readonly busy?: boolean,
 *   readonly foot?: readonly ComponentChildren[],
 * }} table
 */
export function table({ label, rows, idOf, columns, busy = false, foot }) {
  if (rows.length === 0) return html`<p class="hint">${words.console.nothing}</p>`
  const line = (
    /** @type {readonly ComponentChildren[]} */ cells,
    /** @type {string} */ key,
  ) => html`
    <tr role="row" key=${key}>
      ${columns.map(
        ([title, , kind], i) =>
          html`<td role="cell" key=${title} data-label=${title} class=${kind}>${cells[i]}</td>`,
      )}
    </tr>
  `
  return html`
    <div class="scroll" aria-busy=${busy}>
      <table role="table" aria-label=${label}>
        <thead role="rowgroup">
          <tr role="row">
            ${columns.map(
              ([title, , kind]) =>
                html`<th role="columnheader" key=${title} class=${kind}>${title}</th>`,
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map((row) =>
            line(
              columns.map(([, cell]) => cell(row)),
              idOf(row),
            ),
          )}
        </tbody>
        ${
          foot &&
          html`<tfoot role="rowgroup">
            ${line(foot, 'foot')}
          </tfoot>`
        }
      </table>
    </div>
  `
}
