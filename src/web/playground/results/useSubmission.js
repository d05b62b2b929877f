import { useEffect, useRef, useState } from 'preact/hooks'
import { pause } from '../clock.js'
import { keep, randomName, recall } from '../session.js'
import { afterFailure, submitTask } from '../calls/submitTask.js'

/** @import { Failure } from '../calls/api.js' */
/** @import { ImageRequest } from '../form/models.js' */
/** @import { SourceImage } from '../form/sourceImages.js' */

/**
 * A submit whose answer has not come yet. It is kept in the tab, so that a reload repeats it under the same
 * idempotency key, which never makes a second task. It belongs to one account, because the same key of
 * another account would make a new task.
 * @typedef {{
 *   readonly idempotencyKey: string,
 *   readonly accountId: string,
 *   readonly request: ImageRequest,
 *   readonly sourceCount: number,
 *   readonly editedTaskId?: string | undefined,
 * }} Pending
 *
 * @typedef {{ readonly phase: 'idle' }
 *   | { readonly phase: 'sending', readonly fraction: number }
 *   | { readonly phase: 'waiting', readonly failure: Failure, readonly untilMs: number }
 *   | { readonly phase: 'stopped', readonly failure: Failure }
 *   | { readonly phase: 'refused', readonly failure: Failure }} SubmissionState
 */

/** @type {Failure} */
const sourcesLost = {
  status: 0,
  message:
    'The page was reloaded before the API answered, and the source images are gone. If the API took the ' +
    'request, its task is in the gallery.',
  mayRepeat: false,
}

/**
 * Sends submits, one at a time, and repeats each until it is answered.
 * @param {{
 *   readonly apiKey: string,
 *   readonly accountId: string,
 *   readonly onAccepted: (taskId: string, pending: Pending, sources: readonly SourceImage[]) => void,
 * }} options
 */
export function useSubmission({ apiKey, accountId, onAccepted }) {
  const [state, setState] = useState(/** @type {SubmissionState} */ ({ phase: 'idle' }))
  const current = useRef(new AbortController())

  /**
   * @param {Pending} pending
   * @param {readonly SourceImage[]} sources
   */
  async function send(pending, sources) {
    current.current.abort()
    const { signal } = (current.current = new AbortController())
    const { request, idempotencyKey } = pending
    keep('pending', pending)
    for (let tries = 1; ; tries += 1) {
      setState({ phase: 'sending', fraction: 0 })
      const onProgress = (/** @type {number} */ fraction) => {
        if (!signal.aborted) setState({ phase: 'sending', fraction })
      }
      const answer = await submitTask({
        apiKey,
        idempotencyKey,
        request,
        sources,
        onProgress,
        signal,
      })
      if (signal.aborted) return
      if (answer.ok) {
        keep('pending', undefined)
        setState({ phase: 'idle' })
        onAccepted(answer.value.task_id, pending, sources)
        return
      }
      const { failure } = answer
      const next = afterFailure(failure, tries)
      if (next.kind !== 'repeat') {
        if (next.kind === 'refused') keep('pending', undefined)
        setState({ phase: next.kind, failure })
        return
      }
      const waitMs = next.seconds * 1000
      setState({ phase: 'waiting', failure, untilMs: Date.now() + waitMs })
      await pause(waitMs, signal)
      if (signal.aborted) return
    }
  }

  useEffect(() => () => current.current.abort(), [])

  return {
    state,
    /**
     * @param {ImageRequest} request
     * @param {readonly SourceImage[]} sources
     */
    submit: (request, sources) => {
      const used = request.action === 'edit' ? sources : []
      const editedTaskId = used.find(({ fromTaskId }) => fromTaskId)?.fromTaskId
      const idempotencyKey = randomName()
      const pending = { idempotencyKey, accountId, request, sourceCount: used.length, editedTaskId }
      void send(pending, used)
    },
    /**
     * Repeats what was not answered: at once after a reload, or when the user asks for it.
     * @param {readonly SourceImage[]} sources
     */
    resume: (sources) => {
      const pending = recall('pending', /** @type {Pending | undefined} */ (undefined))
      if (pending === undefined || pending.accountId !== accountId) return
      if (pending.sourceCount > sources.length) {
        keep('pending', undefined)
        setState({ phase: 'refused', failure: sourcesLost })
        return
      }
      void send(pending, sources)
    },
    /** Gives up what was not answered, or hides the failure. */
    dismiss: () => {
      current.current.abort()
      keep('pending', undefined)
      setState({ phase: 'idle' })
    },
  }
}
