import { html } from 'htm/preact'
import { Notice } from '../notice.js'

/** @import { SubmissionState } from './useSubmission.js' */

/**
 * Shows how far a submit is, or why it was not accepted.
 * @param {{
 *   readonly state: SubmissionState,
 *   readonly onRepeat: () => void,
 *   readonly onDismiss: () => void,
 * }} props
 */
export function SubmissionNotice({ state, onRepeat, onDismiss }) {
  return html`<div aria-live="polite">${contentOf(state, onRepeat, onDismiss)}</div>`
}

/**
 * @param {SubmissionState} state
 * @param {() => void} onRepeat
 * @param {() => void} onDismiss
 */
function contentOf(state, onRepeat, onDismiss) {
  switch (state.phase) {
    case 'idle':
      return null
    case 'sending':
      return html`<p class="hint">Sending…</p>`
    case 'waiting':
      return html`
        <${Notice} title="Not accepted yet" failure=${state.failure} untilMs=${state.untilMs}>
          <span class="hint">Repeats never make a second image.</span>
          <button type="button" onClick=${onRepeat}>Try now</button>
          <button type="button" onClick=${onDismiss}>Give up</button>
        <//>
      `
    case 'stopped':
      return html`
        <${Notice} title="Not answered" failure=${state.failure}>
          <button type="button" onClick=${onRepeat}>Ask once more</button>
          <button type="button" onClick=${onDismiss}>Give up</button>
        <//>
      `
    case 'refused':
      return html`
        <${Notice} title="Not accepted" failure=${state.failure}>
          <button type="button" onClick=${onDismiss}>Close</button>
        <//>
      `
    default:
      return null
  }
}
