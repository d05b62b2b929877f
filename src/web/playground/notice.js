import { html } from 'htm/preact'
import { useClock } from './clock.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Failure } from './calls/api.js' */

/**
 * Shows a failure in the words of the API, and how long to wait, second by second, when the API says so.
 * @param {{
 *   readonly title: string,
 *   readonly failure: Pick<Failure, 'message' | 'code'>,
 *   readonly untilMs?: number,
 *   readonly children?: ComponentChildren,
 * }} props
 */
export function Notice({ title, failure, untilMs, children }) {
  const nowMs = useClock(untilMs !== undefined)
  const seconds = untilMs === undefined ? 0 : Math.max(0, Math.ceil((untilMs - nowMs) / 1000))
  return html`
    <div class="notice">
      <p class="notice-title">${title}</p>
      <p>${failure.message} ${failure.code && html`<code class="code">${failure.code}</code>`}</p>
      ${
        // A screen reader would read every second aloud. It hears the number once, in the sentence below.
        untilMs !== undefined &&
        html`<p class="countdown" aria-hidden="true">
          Trying again in <b>${seconds}</b> ${seconds === 1 ? 'second' : 'seconds'}
        </p>`
      }
      ${children && html`<div class="actions">${children}</div>`}
    </div>
  `
}
