import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from 'words'
import { submitTask } from '../calls/api.js'
import { pause } from '../../shared/repeat.js'
import { randomName } from '../../shared/session.js'
import { submitBody } from '../form/sourceImages.js'

/** @import { Failure } from '../../shared/callApi.js' */
/** @import { ImageRequest } from '../form/models.js' */
/** @import { SourceImage } from '../form/sourceImages.js' */

/**
 * @typedef {{ readonly phase: 'idle' }
 *   | { readonly phase: 'sending' }
 *   | { readonly phase: 'waiting', readonly failure: Failure, readonly untilMs: number }
 *   | { readonly phase: 'stopped' | 'refused', readonly failure: Failure }} SubmissionState
 */

/** @type {Failure} */
const notRead = { status: 0, message: words.playground.notRead, mayRepeat: false }

/** How often a submit is tried before the user must decide. The waits add up to three and a half minutes. */
const triesMax = 12
const waitsSeconds = [1, 2, 4, 8, 15, 30]

/**
 * Sends submits, one at a time, and repeats a submit that gets no answer under the same idempotency key, which never
 * makes a second task. After a reload, a submit that the API took is in the gallery, and one that it did not take is
 * still in the form.
 * @param {string} apiKey
 * @param {(taskId: string, createdAtMs: number, request: ImageRequest) => void} onAccepted
 */
export function useSubmission(apiKey, onAccepted) {
  const [state, setState] = useState(/** @type {SubmissionState} */ ({ phase: 'idle' }))
  /** A second click can come before the page is drawn again. `state` is then still the old one, but this is new. */
  const busy = useRef(false)
  const current = useRef({ stop: new AbortController(), repeat: () => {} })
  const enter = (/** @type {SubmissionState} */ next) => {
    busy.current = next.phase !== 'idle' && next.phase !== 'refused'
    setState(next)
  }

  /**
   * @param {string} idempotencyKey
   * @param {ImageRequest} request
   * @param {Promise<Blob | undefined>} reading the body, read once: a repeat must send what the first try sent
   */
  async function send(idempotencyKey, request, reading) {
    current.current.stop.abort()
    const { signal } = (current.current.stop = new AbortController())
    current.current.repeat = () => void send(idempotencyKey, request, reading)
    for (let tries = 1; ; tries += 1) {
      enter({ phase: 'sending' })
      const body = await reading
      if (signal.aborted) return
      if (body === undefined) return enter({ phase: 'refused', failure: notRead })
      const answer = await submitTask(apiKey, idempotencyKey, body, signal)
      if (signal.aborted) return
      if (answer.ok) {
        enter({ phase: 'idle' })
        return onAccepted(answer.value.task_id, answer.value.created_at * 1000, request)
      }
      const { failure } = answer
      const { status, mayRepeat, retryAfterSeconds = 0 } = failure
      // The API took nothing and will not take this request. After any other failure the task may exist, and only a
      // repeat with the same key can tell.
      if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
        return enter({ phase: 'refused', failure })
      }
      if (!mayRepeat || tries >= triesMax) return enter({ phase: 'stopped', failure })
      const seconds = waitsSeconds[Math.min(tries, waitsSeconds.length) - 1] ?? 1
      const waitMs = Math.max(seconds, retryAfterSeconds) * 1000
      enter({ phase: 'waiting', failure, untilMs: Date.now() + waitMs })
      await pause(waitMs, signal)
      if (signal.aborted) return
    }
  }

  useEffect(() => () => current.current.stop.abort(), [])

  return {
    state,
    busy: busy.current,
    /**
     * @param {ImageRequest} request
     * @param {readonly SourceImage[]} sources
     */
    submit: (request, sources) => {
      if (busy.current) return
      const reading = submitBody(request, sources).catch(() => undefined)
      void send(randomName(), request, reading)
    },
    /** Repeats now what was not answered. */
    repeat: () => current.current.repeat(),
    /** Gives up what was not answered, or hides the failure. */
    dismiss: () => {
      current.current.stop.abort()
      enter({ phase: 'idle' })
    },
  }
}
