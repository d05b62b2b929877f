/** @import { z } from 'zod' */
/** @import { account } from '../../../schema/answers/account.ts' */
/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Model } from '../form/models.js' */

/**
 * Why the API did not do what it was asked. `status` 0: there was no answer.
 * @typedef {{
 *   readonly status: number,
 *   readonly message: string,
 *   readonly code?: string | undefined,
 *   readonly retryAfterSeconds?: number | undefined,
 *   readonly mayRepeat: boolean,
 * }} Failure
 *
 * @typedef {z.infer<typeof account>} Account
 *
 * @typedef {{ readonly data: readonly TaskRecord[], readonly has_more: boolean }} TaskPage
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
function apiAddress(path) {
  return new URL(path, document.baseURI).href
}

/**
 * Returns the address of a task's image on the page's own origin. The API writes its configured public
 * address, which may name another host than the one the page was loaded from.
 * @param {TaskRecord | undefined} record
 */
export function imageAddress(record) {
  const url = record?.output?.assets[0]?.url
  const path = url?.slice(url.indexOf('/v1/assets/') + 1)
  return path === undefined ? undefined : apiAddress(path)
}

/** @param {string} key @returns {Promise<Answer<Account>>} */
export function readAccount(key) {
  return callApi(key, 'v1/account')
}

/** @param {string} key @returns {Promise<Answer<{ readonly data: readonly Model[] }>>} */
export function readModels(key) {
  return callApi(key, 'v1/models')
}

/**
 * @param {string} key
 * @param {{ readonly limit: number, readonly after?: string | undefined }} page
 * @returns {Promise<Answer<TaskPage>>}
 */
export function listTasks(key, { limit, after }) {
  const query = new URLSearchParams({ limit: String(limit), ...(after && { after }) })
  return callApi(key, `v1/tasks?${query}`)
}

/**
 * Reads a task. With `waitSeconds` the API holds the answer until the task ends, at most that long.
 * @param {string} key
 * @param {string} taskId
 * @param {{ readonly waitSeconds: number, readonly signal: AbortSignal }} [wait]
 * @returns {Promise<Answer<TaskRecord>>}
 */
export function readTask(key, taskId, wait) {
  const { signal } = wait ?? {}
  const headers = wait && { Prefer: `wait=${wait.waitSeconds}` }
  return callApi(key, `v1/tasks/${taskId}`, { headers, signal })
}

/**
 * @param {string} key
 * @param {string} taskId
 * @returns {Promise<Answer<TaskRecord>>}
 */
export function cancelTask(key, taskId) {
  return callApi(key, `v1/tasks/${taskId}/cancel`, { method: 'POST' })
}

/** How long one try may take. A slow line needs some minutes for the largest request. */
const submitTimeoutMs = 900_000

/**
 * Sends a submit once.
 * @param {string} key
 * @param {string} idempotencyKey
 * @param {Blob} body
 * @param {AbortSignal} signal
 * @returns {Promise<Answer<{ readonly task_id: string, readonly created_at: number }>>}
 */
export function submitTask(key, idempotencyKey, body, signal) {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey }
  const init = { method: 'POST', headers, body, signal }
  return callApi(key, 'v1/images/tasks', init, submitTimeoutMs)
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
 * }} init
 * @param {number} limitMs
 * @returns {Promise<Answer<T>>}
 */
async function callApi(key, path, { signal, ...init } = {}, limitMs = timeoutMs) {
  const limit = AbortSignal.timeout(limitMs)
  try {
    const response = await fetch(apiAddress(path), {
      ...init,
      headers: { ...init.headers, Authorization: `Bearer ${key}` },
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    const header = (/** @type {string} */ name) => response.headers.get(name)
    return answerOf(response.status, await response.text(), header)
  } catch {
    return { ok: false, failure: noAnswer }
  }
}

/** @type {Failure} */
const noAnswer = { status: 0, message: 'The API did not answer.', mayRepeat: true }

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
  const document = parsed(text)
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
      message: typeof message === 'string' ? message : `The answer was HTTP ${status}.`,
      code: typeof code === 'string' ? code : undefined,
      retryAfterSeconds:
        seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) : undefined,
      mayRepeat: header('x-should-retry') !== 'false',
    },
  }
}

/**
 * Returns a JSON document, or `undefined` for any other text.
 * @param {string} text
 */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
