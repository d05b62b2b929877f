import { html } from 'htm/preact'

/**
 * Numbers at a glance: what, how many, and the view that has them.
 * @param {{
 *   readonly tiles: readonly (readonly [label: string, value: string, link?: string | undefined])[],
 * }} props
 */
export function Tiles({ tiles }) {
  return html`
    <ul class="numbers">
      ${tiles.map(
        ([label, value, link]) => html`
          <li key=${label}>
            <span class="hint">${link ? html`<a href=${link}>${label}</a>` : label}</span>
            <b>${value}</b>
          </li>
        `,
      )}
    </ul>
  `
}

/**
 * Names and values in two columns. An absent value leaves out its row.
 * @param {{ readonly facts: readonly (readonly [string, import('preact').ComponentChildren])[] }} props
 */
export function Facts({ facts }) {
  return html`
    <dl class="facts-list">
      ${facts
        .filter(([, value]) => value !== undefined && value !== null && value !== '')
        .map(
          ([name, value]) =>
            html`<div key=${name}>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>`,
        )}
    </dl>
  `
}
