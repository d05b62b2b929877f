import { apiAddress, callApi } from '../../shared/callApi.js'

/** @import { z } from 'zod' */
/** @import { estimate } from '../../../schema/answers/estimateAnswer.ts' */
/** @import { account } from '../../../schema/answers/accountAnswer.ts' */
/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Model } from '../form/models.js' */

/** @import { Answer } from '../../shared/callApi.js' */

/**
 * @typedef {z.infer<typeof account>} Account
 *
 * @typedef {{ readonly data: readonly TaskRecord[], readonly has_more: boolean }} TaskPage
 */

/**
 * Returns the address of a task's image on the page's own origin. The API writes its configured public
 * address, which may name another host than the one the page was loaded from.
 * @param {TaskRecord | undefined} record
 */
export function imageAddress(record) {
  const url = record?.output?.assets[0]?.url
  const path = url?.slice(url.indexOf('/v1/assets/') + '/v1/'.length)
  return path === undefined ? undefined : apiAddress(`playground/${path}`)
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

/**
 * Deletes image, source images and prompt of an ended task.
 * @param {string} key
 * @param {string} taskId
 * @returns {Promise<Answer<TaskRecord>>}
 */
export function deleteTask(key, taskId) {
  return callApi(key, `v1/tasks/${taskId}`, { method: 'DELETE' })
}

/**
 * Asks what a submit would hold, and whether it would be accepted now.
 * @param {string} key
 * @param {Blob} body
 * @param {AbortSignal} signal
 * @returns {Promise<Answer<z.infer<typeof estimate>>>}
 */
export function estimateTask(key, body, signal) {
  const headers = { 'Content-Type': 'application/json' }
  return callApi(key, 'v1/estimate', { method: 'POST', headers, body, signal })
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
