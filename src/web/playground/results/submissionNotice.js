import { html } from 'htm/preact'
import { words } from 'words'
import { Notice } from '../../shared/notice.js'

/** @import { SubmissionState } from './useSubmission.js' */

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
  if (state.phase === 'sending') return html`<p class="hint">${words.playground.sending}</p>`
  const untilMs = state.phase === 'waiting' ? state.untilMs : undefined
  const mayRepeat = state.phase !== 'refused'
  return html`
    <${Notice}
      title=${words.playground.submit[state.phase]}
      failure=${state.failure}
      untilMs=${untilMs}
    >
      ${
        mayRepeat &&
        html`
          <span class="hint">${words.playground.repeats}</span>
          <button type="button" onClick=${onRepeat}>${words.playground.tryNow}</button>
        `
      }
      <button type="button" onClick=${onDismiss}>
        ${mayRepeat ? words.playground.giveUp : words.close}
      </button>
    <//>
  `
}
