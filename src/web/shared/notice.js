import { html } from 'htm/preact'
import { words } from 'words'

/** @import { ComponentChildren } from 'preact' */
/** @import { Failure } from './callApi.js' */

/**
 * Shows a failure in the words of the API. With `untilMs`, also says when the next try is.
 * @param {{
 *   readonly title: string,
 *   readonly failure: Pick<Failure, 'message' | 'code'>,
 *   readonly untilMs?: number,
 *   readonly children?: ComponentChildren,
 * }} props
 */
export function Notice({ title, failure, untilMs, children }) {
  return html`
    <div class="notice">
      <p><b>${title}</b></p>
      <p>${failure.message} ${failure.code && html`<code class="soft">${failure.code}</code>`}</p>
      ${untilMs && html`<p>${words.call.again(time.format(untilMs))}</p>`}
      ${children && html`<div class="actions">${children}</div>`}
    </div>
  `
}

const time = new Intl.DateTimeFormat(words.language, { timeStyle: 'medium' })
