import { html } from 'htm/preact'
import { Notice } from '../notice.js'

/** @import { SubmissionState } from './useSubmission.js' */

const titles = { waiting: 'Not accepted yet', stopped: 'Not answered', refused: 'Not accepted' }

/**
 * Shows that a submit is under way, or why it was not accepted.
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
  if (state.phase === 'idle') return null
  if (state.phase === 'sending') return html`<p class="hint">Sending…</p>`
  const untilMs = state.phase === 'waiting' ? state.untilMs : undefined
  const mayRepeat = state.phase !== 'refused'
  return html`
    <${Notice} title=${titles[state.phase]} failure=${state.failure} untilMs=${untilMs}>
      ${
        mayRepeat &&
        html`
          <span class="hint">Repeats never make a second image.</span>
          <button type="button" onClick=${onRepeat}>Try now</button>
        `
      }
      <button type="button" onClick=${onDismiss}>${mayRepeat ? 'Give up' : 'Close'}</button>
    <//>
  `
}
