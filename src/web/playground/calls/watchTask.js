import { readTask } from './api.js'
import { repeat } from '../../shared/repeat.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */

/** How long the API holds one lookup, and so how late progress is seen. The end is seen at once. */
const waitSeconds = 2
/** Between lookups, in case a proxy on the way does not let them wait. */
const pauseMs = 300
/** After a failure, unless the API says how long to wait. */
const failurePauseMs = 3_000

/** @param {TaskRecord} record */
export function isLive({ status }) {
  return status === 'queued' || status === 'processing'
}

/**
 * Follows a task until it has ended, or until the API does not know it. Returns a function that stops it.
 * @param {{
 *   readonly apiKey: string,
 *   readonly taskId: string,
 *   readonly onRecord: (record: TaskRecord) => void,
 *   readonly onGone: () => void,
 * }} watch
 */
export function watchTask({ apiKey, taskId, onRecord, onGone }) {
  return repeat(async (signal) => {
    const answer = await readTask(apiKey, taskId, { waitSeconds, signal })
    if (signal.aborted) return undefined
    if (answer.ok) {
      onRecord(answer.value)
      return isLive(answer.value) ? pauseMs : undefined
    }
    const { status, retryAfterSeconds } = answer.failure
    if (status === 400 || status === 404) onGone()
    if ([400, 401, 403, 404].includes(status)) return undefined
    return retryAfterSeconds ? retryAfterSeconds * 1000 : failurePauseMs
  })
}
