import { useEffect, useRef, useState } from 'preact/hooks'
import { pause } from '../clock.js'
import { keepSources, keptSources } from '../form/keptSources.js'
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
 * Sends submits, one at a time, and repeats a submit that gets no answer, also after a reload. `afterFailure` says
 * when the repeats stop.
 * @param {{
 *   readonly apiKey: string,
 *   readonly accountId: string,
 *   readonly onAccepted: (taskId: string, pending: Pending, sources: readonly SourceImage[]) => void,
 * }} options
 */
export function useSubmission({ apiKey, accountId, onAccepted }) {
  const [state, setState] = useState(/** @type {SubmissionState} */ ({ phase: 'idle' }))
  /** A second click can come before the page is drawn again. `state` is then still the old one, but this is new. */
  const busy = useRef(false)
  const enter = (/** @type {SubmissionState} */ next) => {
    busy.current = next.phase !== 'idle' && next.phase !== 'refused'
    setState(next)
  }
  const current = useRef({ stop: new AbortController(), repeat: () => {} })

  /**
   * @param {Pending} pending
   * @param {readonly SourceImage[]} sources
   */
  async function send(pending, sources) {
    current.current.stop.abort()
    const stop = new AbortController()
    current.current = { stop, repeat: () => void send(pending, sources) }
    const { signal } = stop
    const { request, idempotencyKey } = pending
    const onProgress = (/** @type {number} */ fraction) => {
      if (!signal.aborted) enter({ phase: 'sending', fraction })
    }
    for (let tries = 1; ; tries += 1) {
      onProgress(0)
      const submit = { apiKey, idempotencyKey, request, sources, onProgress, signal }
      const answer = await submitTask(submit)
      if (signal.aborted) return
      if (answer.ok) {
        forget()
        enter({ phase: 'idle' })
        onAccepted(answer.value.task_id, pending, sources)
        return
      }
      const { failure } = answer
      const next = afterFailure(failure, tries)
      if (next.kind !== 'repeat') {
        if (next.kind === 'refused') forget()
        enter({ phase: next.kind, failure })
        return
      }
      const waitMs = next.seconds * 1000
      enter({ phase: 'waiting', failure, untilMs: Date.now() + waitMs })
      await pause(waitMs, signal)
      if (signal.aborted) return
    }
  }

  async function resume() {
    const pending = recall('pending', /** @type {Pending | undefined} */ (undefined))
    if (pending === undefined || pending.accountId !== accountId) return
    const sources = await keptSources('pending')
    if (pending.sourceCount === sources.length) await send(pending, sources)
    else {
      forget()
      enter({ phase: 'refused', failure: sourcesLost })
    }
  }

  useEffect(() => {
    void resume()
    return () => current.current.stop.abort()
  }, [])

  return {
    state,
    busy: busy.current,
    /**
     * @param {ImageRequest} request
     * @param {readonly SourceImage[]} sources
     */
    submit: async (request, sources) => {
      if (busy.current) return
      const used = request.action === 'edit' ? sources : []
      const editedTaskId = used.find(({ fromTaskId }) => fromTaskId)?.fromTaskId
      const idempotencyKey = randomName()
      const pending = { idempotencyKey, accountId, request, sourceCount: used.length, editedTaskId }
      enter({ phase: 'sending', fraction: 0 })
      // The images come first, so that a reload never finds the request without them.
      await keepSources('pending', used)
      keep('pending', pending)
      await send(pending, used)
    },
    /** Repeats now what was not answered. */
    repeat: () => current.current.repeat(),
    /** Gives up what was not answered, or hides the failure. */
    dismiss: () => {
      current.current.stop.abort()
      forget()
      enter({ phase: 'idle' })
    },
  }
}

function forget() {
  keep('pending', undefined)
  void keepSources('pending', [])
}
