import { useCallback, useEffect, useReducer } from 'preact/hooks'
import { listTasks } from '../calls/api.js'
import { keep, recall } from '../session.js'
import { isLive, watchTask } from '../calls/watchTask.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Failure } from '../calls/api.js' */
/** @import { ImageRequest } from '../form/models.js' */

/**
 * What this tab knows of a task that it submitted. A record of the API contains neither prompt nor size.
 * @typedef {{ readonly request: ImageRequest, readonly editedTaskId?: string | undefined }} Note
 *
 * `records` has every task that is known, `order` the ids of those in the gallery, newest first. `gone` is the id of
 * the task that most recently turned out to be unknown to the API.
 * @typedef {{
 *   readonly records: Readonly<Record<string, TaskRecord>>,
 *   readonly notes: Readonly<Record<string, Note>>,
 *   readonly order: readonly string[],
 *   readonly hasMore: boolean,
 *   readonly loading: boolean,
 *   readonly failure?: Failure | undefined,
 *   readonly gone?: string | undefined,
 * }} Tasks
 *
 * @typedef {{ readonly kind: 'loading' }
 *   | { readonly kind: 'page', readonly data: readonly TaskRecord[], readonly hasMore: boolean, readonly first: boolean }
 *   | { readonly kind: 'failure', readonly failure: Failure }
 *   | { readonly kind: 'record', readonly record: TaskRecord }
 *   | { readonly kind: 'gone', readonly taskId: string }
 *   | { readonly kind: 'accepted', readonly record: TaskRecord, readonly note: Note }} Change
 */

const pageTasks = 24
/** Tasks that are followed at once. Others are followed as these end. */
const watchedMax = 6
/** Tasks whose requests this tab remembers. */
const notesMax = 100

/**
 * The tasks of the account: loads the gallery page by page, and follows the tasks that have not ended.
 * @param {string} key
 * @param {string | undefined} shownId the task on display, which is followed first
 */
export function useTasks(key, shownId) {
  const [tasks, change] = useReducer(changed, undefined, restored)
  const { records, order, notes } = tasks

  const load = useCallback(
    async (/** @type {string | undefined} */ after) => {
      change({ kind: 'loading' })
      const answer = await listTasks(key, { limit: pageTasks, after })
      if (answer.ok) {
        const { data, has_more: hasMore } = answer.value
        change({ kind: 'page', data, hasMore, first: after === undefined })
      } else change({ kind: 'failure', failure: answer.failure })
    },
    [key],
  )

  useEffect(() => void load(undefined), [load])
  useEffect(() => keep('notes', notes), [notes])

  const shown = shownId === undefined ? undefined : records[shownId]
  const shownIsLive = shownId !== undefined && (shown === undefined || isLive(shown))
  const live = order.filter((taskId) => records[taskId] && isLive(records[taskId]))
  const watched = [...new Set([...(shownIsLive ? [shownId] : []), ...live])].slice(0, watchedMax)
  useWatches(key, watched, change)

  return {
    tasks,
    loadMore: () => load(order.at(-1)),
    /** Reads the newest tasks again. */
    refresh: () => load(undefined),
    /** @param {TaskRecord} record @param {Note} note */
    accepted: (record, note) => change({ kind: 'accepted', record, note }),
    /** @param {TaskRecord} record */
    update: (record) => change({ kind: 'record', record }),
  }
}

/**
 * Follows exactly the given tasks: a task that leaves the list is not followed any more.
 * @param {string} key
 * @param {readonly string[]} taskIds
 * @param {(change: Change) => void} change
 */
function useWatches(key, taskIds, change) {
  const [stops] = useReducer((same) => same, /** @type {Map<string, () => void>} */ (new Map()))
  useEffect(() => {
    for (const [taskId, stop] of stops) {
      if (taskIds.includes(taskId)) continue
      stop()
      stops.delete(taskId)
    }
    for (const taskId of taskIds) {
      if (stops.has(taskId)) continue
      const stop = watchTask({
        key,
        taskId,
        onRecord: (record) => change({ kind: 'record', record }),
        onFailure: ({ status }) => {
          if (status === 400 || status === 404) change({ kind: 'gone', taskId })
        },
      })
      stops.set(taskId, stop)
    }
  }, [key, taskIds.join(' ')])
  useEffect(
    () => () => {
      for (const stop of stops.values()) stop()
      stops.clear()
    },
    [key],
  )
}

/** @returns {Tasks} */
function restored() {
  /** @type {Tasks['notes']} */
  const notes = recall('notes', {})
  return { records: {}, notes, order: [], hasMore: false, loading: true }
}

/**
 * @param {Tasks} tasks
 * @param {Change} change
 * @returns {Tasks}
 */
function changed(tasks, change) {
  const { records, order } = tasks
  switch (change.kind) {
    case 'loading':
      return { ...tasks, loading: true, failure: undefined }
    case 'failure':
      return { ...tasks, loading: false, failure: change.failure }
    case 'page': {
      const added = Object.fromEntries(change.data.map((record) => [record.task_id, record]))
      const ids = Object.keys(added)
      // The first page has the newest tasks, so it goes to the front. Every other page continues the list.
      const all = change.first ? [...ids, ...order] : [...order, ...ids]
      return {
        ...tasks,
        records: { ...records, ...added },
        order: [...new Set(all)],
        hasMore: change.first && order.length > 0 ? tasks.hasMore : change.hasMore,
        loading: false,
      }
    }
    case 'record': {
      const { record } = change
      return { ...tasks, records: { ...records, [record.task_id]: record } }
    }
    case 'gone': {
      const { [change.taskId]: _gone, ...others } = records
      const left = order.filter((id) => id !== change.taskId)
      return { ...tasks, records: others, order: left, gone: change.taskId }
    }
    case 'accepted': {
      const { record, note } = change
      const taskId = record.task_id
      const notes = Object.entries({ ...tasks.notes, [taskId]: note }).slice(-notesMax)
      return {
        ...tasks,
        // The task of a repeated submit may be known already. Then its known record is newer than this one.
        records: { [taskId]: record, ...records },
        notes: Object.fromEntries(notes),
        order: [taskId, ...order.filter((id) => id !== taskId)],
      }
    }
    default:
      return tasks
  }
}
