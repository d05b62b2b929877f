import { html } from 'htm/preact'
import { useMemo } from 'preact/hooks'
import { useClock } from './clock.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Failure } from './calls/api.js' */

/**
 * Shows a failure in the words of the API. With `untilMs`, also counts down the seconds until the next try.
 * @param {{
 *   readonly title: string,
 *   readonly failure: Pick<Failure, 'message' | 'code'>,
 *   readonly untilMs?: number,
 *   readonly children?: ComponentChildren,
 * }} props
 */
export function Notice({ title, failure, untilMs, children }) {
  const nowMs = useClock(untilMs !== undefined)
  // A screen reader would read every second aloud. It gets a text with the whole wait instead, and reads it once.
  const waitSeconds = useMemo(() => secondsUntil(untilMs, Date.now()), [untilMs])
  const seconds = secondsUntil(untilMs, nowMs)
  return html`
    <div class="notice">
      <p class="notice-title">${title}</p>
      <p>${failure.message} ${failure.code && html`<code class="code">${failure.code}</code>`}</p>
      ${
        untilMs !== undefined &&
        html`
          <p class="countdown" aria-hidden="true">${waitText(seconds)}</p>
          <p class="visually-hidden">${waitText(waitSeconds)}</p>
        `
      }
      ${children && html`<div class="actions">${children}</div>`}
    </div>
  `
}

/**
 * @param {number | undefined} untilMs
 * @param {number} nowMs
 */
function secondsUntil(untilMs, nowMs) {
  return untilMs === undefined ? 0 : Math.max(0, Math.ceil((untilMs - nowMs) / 1000))
}

/** @param {number} seconds */
function waitText(seconds) {
  return `Trying again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
}
