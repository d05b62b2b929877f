import { html } from 'htm/preact'
import { words } from 'words'
import { Notice } from '../../shared/notice.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Failure } from '../../shared/callApi.js' */

/**
 * Says why something could not be read or done.
 * @param {Failure | undefined} failure
 * @param {string} [title]
 */
export function told(failure, title = words.console.notRead) {
  return html`<div aria-live="polite">
    ${failure && html`<${Notice} title=${title} failure=${failure} />`}
  </div>`
}

/**
 * Shows numbers at a glance: what, how many, and the view that has them.
 * @param {readonly (readonly [label: string, value: string, link?: string | undefined])[]} numbers
 */
export function tiles(numbers) {
  return html`<ul class="numbers">
    ${numbers.map(
      ([label, value, link]) => html`
        <li key=${label}>
          <span class="hint">${link ? html`<a href=${link}>${label}</a>` : label}</span>
          <b>${value}</b>
        </li>
      `,
    )}
  </ul>`
}

/**
 * Shows names and values. What is absent has no row.
 * @param {readonly (readonly [string, ComponentChildren])[]} list
 */
export function facts(list) {
  return html`<dl class="facts-list">
    ${list
      .filter(([, value]) => value !== undefined && value !== null && value !== '')
      .map(
        ([name, value]) =>
          html`<div key=${name}>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
  </dl>`
}
