import { words } from 'words'
import { visibleJson } from './visibleJson.js'

/**
 * Why the API did not do what it was asked. `status` 0: there was no answer.
 * @typedef {{
 *   readonly status: number,
 *   readonly message: string,
 *   readonly code?: string | undefined,
 *   readonly retryAfterSeconds?: number | undefined,
 *   readonly mayRepeat: boolean,
 * }} Failure
 */

/**
 * @template T
 * @typedef {{ readonly ok: true, readonly value: T, readonly header: (name: string) => string | null }
 *   | { readonly ok: false, readonly failure: Failure }} Answer
 */

const timeoutMs = 30_000

/**
 * Returns the address of a path of the API. It is relative to the page, so that the page also works where a
 * proxy serves the API under a prefix.
 * @param {string} path without a leading slash
 */
export function apiAddress(path) {
  return new URL(path, document.baseURI).href
}

/**
 * @template T
 * @param {string} key
 * @param {string} path
 * @param {{
 *   readonly method?: string,
 *   readonly headers?: Readonly<Record<string, string>> | undefined,
 *   readonly body?: Blob,
 *   readonly signal?: AbortSignal | undefined,
 *   readonly read?: ((response: Response) => Promise<T>) | undefined,
 * }} init `read` takes the value from an answer that is not JSON
 * @param {number} limitMs
 * @returns {Promise<Answer<T>>}
 */
export async function callApi(key, path, { signal, read, ...init } = {}, limitMs = timeoutMs) {
  const limit = AbortSignal.timeout(limitMs)
  try {
    const response = await fetch(apiAddress(path), {
      ...init,
      headers: { ...init.headers, Authorization: `Bearer ${key}` },
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    const header = (/** @type {string} */ name) => response.headers.get(name)
    if (read && response.ok) return { ok: true, value: await read(response), header }
    return answerOf(response.status, await response.text(), header)
  } catch {
    return { ok: false, failure: noAnswer }
  }
}

/** @type {Failure} */
const noAnswer = { status: 0, message: words.call.noAnswer, mayRepeat: true }

/**
 * Returns the value or the failure that an answer of the API contains. A proxy may answer instead of the API,
 * with any text.
 * @template T
 * @param {number} status
 * @param {string} text
 * @param {(name: string) => string | null} header
 * @returns {Answer<T>}
 */
function answerOf(status, text, header) {
  const document = visibleJson(text)
  if (status >= 200 && status < 300 && document !== undefined) {
    return { ok: true, value: document, header }
  }
  /** @type {{ readonly error?: { message?: unknown, code?: unknown } } | undefined} */
  const envelope = document
  const { message, code } = envelope?.error ?? {}
  const seconds = header('Retry-After')
  return {
    ok: false,
    failure: {
      status,
      message: typeof message === 'string' ? message : words.call.status(status),
      code: typeof code === 'string' ? code : undefined,
      retryAfterSeconds:
        seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) : undefined,
      mayRepeat: header('x-should-retry') !== 'false',
    },
  }
}
