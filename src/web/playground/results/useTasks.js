import { useEffect, useState } from 'preact/hooks'
import { listTasks } from '../calls/api.js'
import { keep, recall } from '../../shared/session.js'
import { isLive } from '../calls/watchTask.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Failure } from '../../shared/callApi.js' */
/** @import { ImageRequest } from '../form/models.js' */

/** @typedef {ReturnType<typeof useTasks>} Tasks */

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
  const [page, setPage] = useState(
    /** @type {{ readonly loading: boolean, readonly hasMore: boolean, readonly failure?: Failure }} */ ({
      loading: true,
      hasMore: false,
    }),
  )
  const put = (/** @type {readonly TaskRecord[]} */ added) =>
    setRecords((now) => ({
      ...now,
      ...Object.fromEntries(added.map((each) => [each.task_id, each])),
    }))
  const order = Object.values(records).toSorted((a, b) => b.created_at.localeCompare(a.created_at))

  const load = async (/** @type {string | undefined} */ after) => {
    setPage({ loading: true, hasMore: page.hasMore })
    const answer = await listTasks(apiKey, { limit: pageTasks, after })
    if (answer.ok) put(answer.value.data)
    const hasMore =
      answer.ok && (after || order.length === 0) ? answer.value.has_more : page.hasMore
    setPage({ loading: false, hasMore, ...(answer.ok ? {} : { failure: answer.failure }) })
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
    loadMore: () => load(order.at(-1)?.task_id),
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
