import { answerOf, apiAddress, noAnswer } from './api.js'

/** @import { Answer, Failure } from './api.js' */
/** @import { ImageRequest } from '../form/models.js' */
/** @import { SourceImage } from '../form/sourceImages.js' */

/**
 * @typedef {{ readonly task_id: string, readonly status: 'queued', readonly created_at: number }} Accepted
 *
 * @typedef {{
 *   readonly apiKey: string,
 *   readonly idempotencyKey: string,
 *   readonly request: ImageRequest,
 *   readonly sources: readonly SourceImage[],
 *   readonly onProgress: (fraction: number) => void,
 *   readonly signal: AbortSignal,
 * }} Submit
 */

/** How long one try may take. A slow line needs some minutes for the largest request. */
const tryTimeoutMs = 900_000

/**
 * Sends a submit once and returns its answer. It uses XMLHttpRequest, because `fetch` does not report the
 * progress of an upload.
 * @param {Submit} submit
 * @returns {Promise<Answer<Accepted>>}
 */
export async function submitTask({ apiKey, idempotencyKey, request, sources, onProgress, signal }) {
  const body = await bodyOf(request, sources)
  return new Promise((resolve) => {
    const call = new XMLHttpRequest()
    call.open('POST', apiAddress('v1/images/tasks'))
    call.timeout = tryTimeoutMs
    call.setRequestHeader('Authorization', `Bearer ${apiKey}`)
    call.setRequestHeader('Content-Type', 'application/json')
    call.setRequestHeader('Idempotency-Key', idempotencyKey)
    call.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / total))
    call.upload.addEventListener('load', () => onProgress(1))
    // `loadend` comes after `load`, `error`, `timeout` or `abort`. Without an answer the status is 0.
    call.addEventListener('loadend', () => {
      if (call.status === 0) resolve({ ok: false, failure: noAnswer })
      else {
        resolve(answerOf(call.status, call.responseText, (name) => call.getResponseHeader(name)))
      }
    })
    signal.addEventListener('abort', () => call.abort())
    call.send(body)
  })
}

/**
 * Returns the body of a submit. The base64 texts of the images are joined as a Blob, which the browser may
 * keep outside of the memory of the page.
 * @param {ImageRequest} request
 * @param {readonly SourceImage[]} sources
 */
async function bodyOf(request, sources) {
  const document = JSON.stringify(request)
  if (request.action !== 'edit') return new Blob([document])
  /** @type {string[]} */
  const images = []
  for (const { mimeType, blob } of sources) {
    images.push(`{"mime_type":"${mimeType}","data":"${await base64Of(blob)}"}`)
  }
  const list = images.flatMap((image, i) => (i === 0 ? [image] : [',', image]))
  return new Blob([document.slice(0, -1), ',"input_images":[', ...list, ']}'])
}

/**
 * @param {Blob} blob
 * @returns {Promise<string>}
 */
function base64Of(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => {
      const url = typeof reader.result === 'string' ? reader.result : ''
      resolve(url.slice(url.indexOf(',') + 1))
    })
    reader.addEventListener('error', () => reject(reader.error))
    reader.readAsDataURL(blob)
  })
}

/**
 * How often a submit is tried before the user must decide about it. The waits between the tries add up to three and a
 * half minutes.
 */
const triesMax = 12
const waitsSeconds = [1, 2, 4, 8, 15, 30]

/**
 * Decides what follows a failed try. `refused`: the API took nothing and will not take this request, so its
 * idempotency key is of no more use. In the other two cases the task may exist already, and only a repeat with the
 * same key can tell. `repeat`: it comes after some seconds. `stopped`: it comes when the user asks for it.
 * @param {Failure} failure
 * @param {number} tries
 * @returns {{ readonly kind: 'refused' | 'stopped' } | { readonly kind: 'repeat', readonly seconds: number }}
 */
export function afterFailure({ status, mayRepeat, retryAfterSeconds }, tries) {
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) return { kind: 'refused' }
  if (!mayRepeat || tries >= triesMax) return { kind: 'stopped' }
  const seconds = waitsSeconds[Math.min(tries, waitsSeconds.length) - 1] ?? 1
  return { kind: 'repeat', seconds: Math.max(seconds, retryAfterSeconds ?? 0) }
}
