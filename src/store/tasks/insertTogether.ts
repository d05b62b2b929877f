import type { InsertTaskResult, NewTask } from '../../domain/ports/taskStore.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'

type InsertTogetherDeps = {
  readonly insertOne: (task: NewTask) => Promise<InsertTaskResult>
  /** Accepts all of these tasks of one account, or none. Either all are synchronous or none is. */
  readonly insertMany: (
    tasks: readonly NewTask[],
  ) => Promise<{ readonly createdAtMs: number } | 'refused'>
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

/** Limit for the tasks of one statement. */
const tasksMax = 32

/** A task waits at most this long for the insert under way, which may hang on a lost connection. */
const waitMsMax = 100

/** After a refusal, the tasks of the account are inserted one by one for this long. */
const apartMs = 1_000

/** Limit for the text of a task that is inserted together with others. It is copied twice on its way. */
const textBytesMax = 16 * 1024

/** The tasks of one account that are accepted in the same way. */
type Lane = {
  underWay: number
  waiting: Waiting[]
  timer: NodeJS.Timeout | undefined
  apartUntilMs: number
}

type Waiting = {
  readonly task: NewTask
  readonly resolve: (result: InsertTaskResult | Promise<InsertTaskResult>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Creates the function that accepts a task, alone or together with others of its account. All tasks of an account need
 * the lock of its balance. If each took it in a transaction of its own, a busy machine would spend most of its time on
 * handing the lock over. So while one insert is under way, the tasks that come meanwhile wait, and are then inserted
 * together. A task that comes alone does not wait.
 */
export function createInsertTogether(deps: InsertTogetherDeps) {
  const lanes = new Map<string, Lane>()

  async function run<Value>(lane: Lane, work: () => Promise<Value>): Promise<Value> {
    lane.underWay += 1
    try {
      return await work()
    } finally {
      lane.underWay -= 1
      if (lane.underWay === 0) send(lane)
    }
  }

  function send(lane: Lane): void {
    clearTimeout(lane.timer)
    lane.timer = undefined
    const batch = lane.waiting
    lane.waiting = []
    const [first] = batch
    if (first === undefined) return
    if (batch.length > 1 && !isApart(lane)) void insertBatch(lane, batch)
    else insertEach(lane, batch)
  }

  function insertEach(lane: Lane, batch: readonly Waiting[]): void {
    for (const { task, resolve } of batch) resolve(run(lane, () => deps.insertOne(task)))
  }

  function isApart(lane: Lane): boolean {
    return deps.nowMs() < lane.apartUntilMs
  }

  async function insertBatch(lane: Lane, batch: readonly Waiting[]): Promise<void> {
    try {
      const inserted = await run(lane, async () => {
        const result = await deps.insertMany(batch.map(({ task }) => task))
        if (result === 'refused') lane.apartUntilMs = deps.nowMs() + apartMs
        return result
      })
      if (inserted === 'refused') return insertEach(lane, batch)
      for (const { resolve } of batch) resolve({ kind: 'inserted', ...inserted })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  function laneOf({ caller, request }: NewTask): Lane {
    const name = `${isSyncRoute(request.route)} ${caller.accountId}`
    const lane = lanes.get(name) ?? { underWay: 0, waiting: [], timer: undefined, apartUntilMs: 0 }
    // Set again, so that the lane that was not used for longest comes first.
    lanes.delete(name)
    lanes.set(name, lane)
    return lane
  }

  /** Forgets lanes from the front of the map. A lane in which tasks were refused together is kept while that counts. */
  function forgetIdle(): void {
    for (const [name, lane] of lanes) {
      if (lane.underWay > 0 || lane.waiting.length > 0 || isApart(lane)) return
      lanes.delete(name)
    }
  }

  function insertInLane(lane: Lane, task: NewTask): Promise<InsertTaskResult> {
    if (lane.underWay === 0 || isApart(lane)) {
      return run(lane, () => deps.insertOne(task))
    }
    return new Promise((resolve, reject) => {
      lane.waiting.push({ task, resolve, reject })
      if (lane.waiting.length >= tasksMax) send(lane)
      else lane.timer ??= setTimeout(() => send(lane), waitMsMax)
    })
  }

  return async (task: NewTask): Promise<InsertTaskResult> => {
    if (task.uploadId !== undefined || task.requestText.byteLength > textBytesMax) {
      return deps.insertOne(task)
    }
    forgetIdle()
    return insertInLane(laneOf(task), task)
  }
}
