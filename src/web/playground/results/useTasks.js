import { useEffect, useState } from 'preact/hooks'
import { listTasks } from '../calls/api.js'
import { keep, recall } from '../../shared/session.js'
import { isLive } from '../calls/watchTask.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Failure } from '../../shared/callApi.js' */
/** @import { ImageRequest } from '../form/models.js' */

/** @typedef {ReturnType<typeof useTasks>} Tasks */

/**
 * What is listed without a gap: from `firstId` to `lastId`. Other records come one by one, and may be older.
 * @typedef {{
 *   readonly loading: boolean,
 *   readonly hasMore: boolean,
 *   readonly firstId?: string | undefined,
 *   readonly lastId?: string | undefined,
 *   readonly failure?: Failure | undefined,
 * }} Page
 */

/** @type {Readonly<Record<string, ImageRequest>>} */
const noRequests = {}

const pageTasks = 24
/** A browser opens about six connections to one origin over HTTP/1.1, and each followed task keeps one. */
const watchedMax = 3
/** Tasks whose requests this tab remembers: a record contains neither prompt nor size. */
const requestsMax = 100

/**
 * The tasks of the account that this tab has seen, newest first. The gallery is read page by page.
 * @param {string} apiKey
 * @param {string | undefined} shownId the task on display, which is followed first
 */
export function useTasks(apiKey, shownId) {
  const [records, setRecords] = useState(/** @type {Readonly<Record<string, TaskRecord>>} */ ({}))
  const [requests, setRequests] = useState(recall('requests', noRequests))
  const [page, setPage] = useState(/** @type {Page} */ ({ loading: true, hasMore: false }))
  const put = (/** @type {readonly TaskRecord[]} */ added) =>
    setRecords((now) => ({
      ...now,
      ...Object.fromEntries(added.map((each) => [each.task_id, each])),
    }))
  const order = Object.values(records).toSorted((a, b) => b.created_at.localeCompare(a.created_at))

  const load = async (/** @type {string | undefined} */ after) => {
    setPage((now) => ({ ...now, loading: true, failure: undefined }))
    const answer = await listTasks(apiKey, { limit: pageTasks, after })
    if (!answer.ok) return setPage((now) => ({ ...now, loading: false, failure: answer.failure }))
    const { data, has_more: hasMore } = answer.value
    put(data)
    const [firstId, lastId] = [data[0]?.task_id, data.at(-1)?.task_id]
    setPage((now) => {
      if (after) return { ...now, loading: false, hasMore, lastId }
      // If tasks came that these newest ones do not reach, what was listed before is read again after them.
      const joins = data.some(({ task_id: taskId }) => taskId === now.firstId)
      return joins
        ? { ...now, loading: false, firstId }
        : { loading: false, hasMore, firstId, lastId }
    })
  }
  useEffect(() => void load(undefined), [])
  useEffect(() => keep('requests', requests), [requests])

  const live = order.filter(isLive).map(({ task_id: taskId }) => taskId)
  const shown = shownId && (!records[shownId] || isLive(records[shownId])) ? [shownId] : []
  return {
    records,
    requests,
    order,
    ...page,
    /** The ids of the tasks to follow. Others are followed as these end. */
    watched: [...new Set([...shown, ...live])].slice(0, watchedMax),
    loadMore: () => load(page.lastId),
    /** Reads the newest tasks again. */
    refresh: () => load(undefined),
    /** @param {TaskRecord} record @param {ImageRequest} request */
    accepted: (record, request) => {
      // The task of a repeated submit may be known already. Then its known record is newer than this one.
      setRecords((now) => ({ [record.task_id]: record, ...now }))
      setRequests((now) =>
        Object.fromEntries(
          Object.entries({ ...now, [record.task_id]: request }).slice(-requestsMax),
        ),
      )
    },
    /** @param {TaskRecord} record */
    update: (record) => put([record]),
    /** Keeps the record of a task, and forgets its request. @param {TaskRecord} record */
    forget: (record) => {
      put([record])
      setRequests(({ [record.task_id]: _gone, ...others }) => others)
    },
    /** @param {string} taskId */
    remove: (taskId) => setRecords(({ [taskId]: _gone, ...others }) => others),
  }
}
