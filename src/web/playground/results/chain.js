import { html } from 'htm/preact'
import { imageAddress } from '../calls/api.js'

/** @import { Note, Tasks } from './useTasks.js' */

/**
 * Returns the tasks that belong to one chain of edits, oldest first. Only this tab knows which task an edit
 * began from.
 * @param {Readonly<Record<string, Note>>} notes
 * @param {string} taskId
 */
export function chainOf(notes, taskId) {
  const origin = (/** @type {string} */ id) => {
    let first = id
    for (let next = notes[id]?.editedTaskId; next !== undefined && next !== id;) {
      first = next
      next = notes[next]?.editedTaskId
    }
    return first
  }
  const first = origin(taskId)
  return [first, ...Object.keys(notes).filter((id) => id !== first && origin(id) === first)]
}

/**
 * The steps of a chain of edits, to go back to.
 * @param {{
 *   readonly tasks: Tasks,
 *   readonly taskId: string,
 *   readonly onShow: (taskId: string) => void,
 * }} props
 */
export function Chain({ tasks, taskId, onShow }) {
  const steps = chainOf(tasks.notes, taskId)
  if (steps.length < 2) return null
  return html`
    <nav class="chain" aria-label="Steps of this image">
      <ol>
        ${steps.map((id, i) => {
          const image = imageAddress(tasks.records[id])
          return html`
            <li key=${id}>
              <button
                type="button"
                aria-current=${id === taskId && 'step'}
                aria-label="Step ${i + 1}: ${tasks.notes[id]?.request.prompt ?? id}"
                onClick=${() => onShow(id)}
              >
                ${image ? html`<img src=${image} alt="" />` : html`<span>${i + 1}</span>`}
              </button>
            </li>
          `
        })}
      </ol>
    </nav>
  `
}
