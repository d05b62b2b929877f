import { defined } from '../defined.ts'
import type { TaskView } from './task.ts'
import { isEnded } from './task.ts'
import type { Timed } from './taskRecord.ts'
import { progressMax, progressOf } from './taskRecord.ts'

// The events of a task, as its event stream reports them. An event is named by its id alone: the id follows
// from the status and the progress, so it is the same on every API process. Ids of one task only grow.

/** The id of the event of the end. Larger than 1 + the highest progress. */
export const endEventId = 1_000

/** While a task is processing, the next event comes when the progress has grown by this much. */
const progressStep = 5

/**
 * Returns the id of the event that describes the task now: 0 while it is queued, 1 + its progress while it is
 * processing, and `endEventId` after its end.
 */
export function taskEventId(task: Timed, usualDurationMs: number): number {
  if (isEnded(task.status)) return endEventId
  return task.status === 'queued' ? 0 : 1 + progressOf(task, usualDurationMs)
}

/**
 * Returns an ended task as it was when its first call began, for a reader who has seen it queued and then ended.
 * Returns `undefined` for a task that has never been processing.
 */
export function atFirstCall(ended: TaskView): TaskView | undefined {
  const { taskId, accountId, route, family, model, credits, createdAtMs } = ended
  const { startedAtMs, processingAtMs } = ended
  if (processingAtMs === undefined) return undefined
  return {
    taskId,
    accountId,
    route,
    family,
    model,
    status: 'processing',
    credits,
    createdAtMs,
    nowMs: processingAtMs,
    processingAtMs,
    ...defined({ startedAtMs }),
  }
}

/** Returns the id that a client names as its last event, or `undefined` when no event has such an id. */
export function parseEventId(text: string): number | undefined {
  if (!/^\d{1,4}$/.test(text)) return undefined
  const id = Number(text)
  return id <= 1 + progressMax || id === endEventId ? id : undefined
}

/**
 * Returns whether the event `id` is due for a reader who has seen `lastId`: at a change of status, or when the
 * progress has grown by 5 or more. Every event is due for a reader who has seen none.
 */
export function isEventDue(lastId: number | undefined, id: number): boolean {
  if (lastId === undefined) return true
  if (id === endEventId || lastId === 0) return id > lastId
  return id >= lastId + progressStep
}
