import type { InsertTaskResult, NewTask } from '../../domain/ports/taskStore.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import { joinWrites } from '../connection/joinWrites.ts'

type InsertTogetherDeps = {
  readonly insertOne: (task: NewTask) => Promise<InsertTaskResult>
  /** Accepts all of these tasks of one account, or none. Either all are synchronous or none is. */
  readonly insertMany: (
    tasks: readonly NewTask[],
  ) => Promise<{ readonly createdAtMs: number } | 'refused'>
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

/** After a refusal, the tasks of the account are inserted one by one for this long. */
const apartMs = 1_000

/** Limit for the text of a task that is inserted together with others. It is copied twice on its way. */
const textBytesMax = 16 * 1024

/**
 * Creates the function that accepts a task, alone or together with others of its account. All tasks of an account need
 * the lock of its balance, so those that come while an insert of the account is under way are inserted together
 * (`joinWrites.ts`).
 */
export function createInsertTogether({ insertOne, insertMany, nowMs }: InsertTogetherDeps) {
  /** Until when the tasks of a lane are inserted one by one. The earliest time comes first. */
  const apartUntilMs = new Map<string, number>()

  function isApart(task: NewTask): boolean {
    for (const [lane, untilMs] of apartUntilMs) {
      if (nowMs() < untilMs) break
      apartUntilMs.delete(lane)
    }
    return apartUntilMs.has(laneOf(task))
  }

  const insertJoined = joinWrites<NewTask, InsertTaskResult>(laneOf, async (tasks) => {
    const [first] = tasks
    if (first === undefined) return []
    if (tasks.length === 1) return [await insertOne(first)]
    if (isApart(first)) return tasks.map(insertOne)
    const inserted = await insertMany(tasks)
    if (inserted !== 'refused') return tasks.map(() => ({ kind: 'inserted', ...inserted }))
    apartUntilMs.delete(laneOf(first))
    apartUntilMs.set(laneOf(first), nowMs() + apartMs)
    return tasks.map(insertOne)
  })

  return (task: NewTask): Promise<InsertTaskResult> => {
    const isAlone = task.uploadId !== undefined || task.requestText.byteLength > textBytesMax
    return isAlone || isApart(task) ? insertOne(task) : insertJoined(task)
  }
}

/** The tasks of a lane need the same lock and are accepted in the same way. */
function laneOf({ caller, request }: NewTask): string {
  return `${isSyncRoute(request.route)} ${caller.accountId}`
}
