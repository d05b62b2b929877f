import type { StartTask, TaskStart } from '../domain/execution.ts'
import { createBreaker } from './breaker.ts'
import { createBatcher } from './batcher.ts'
import { createFairLine } from './fairLine.ts'

export type StartQueueEvent =
  | { readonly kind: 'start_failed'; readonly taskId: string; readonly reason: string }
  /** Left to the reconciler: the queue is full, stopped, or Temporal has stopped answering. */
  | { readonly kind: 'left'; readonly taskId: string; readonly reason: 'full' | 'open' | 'stopped' }
  | { readonly kind: 'mark_failed'; readonly count: number; readonly error: unknown }

export type StartQueueDeps = {
  readonly startTask: StartTask
  /** Notes that these tasks' workflows exist. */
  readonly markStarted: (taskIds: readonly string[]) => Promise<void>
  readonly onEvent: (event: StartQueueEvent) => void
  /** A monotonic clock. */
  readonly nowMs: () => number
  readonly limits?: Partial<StartQueueLimits>
}

export type StartQueueLimits = {
  /** Starts under way at once. */
  readonly parallel: number
  /** Starts waiting for their turn. */
  readonly waiting: number
  /** Failures in a row until no start is tried for `pauseMs`. */
  readonly failures: number
  readonly pauseMs: number
}

const defaults: StartQueueLimits = { parallel: 16, waiting: 2_000, failures: 5, pauseMs: 2_000 }

export type StartQueue = {
  /** Never blocks, never throws. What does not fit is started by the reconciler soon after (design 1.2). */
  readonly enqueue: (start: TaskStart) => void
  /** Starts that wait or are under way. */
  readonly depth: () => number
  /** Takes no more; resolves when the starts under way are done and noted. Bounded by their deadlines. */
  readonly stop: () => Promise<void>
}

/**
 * Starts workflows behind the answer of a submit, so that Temporal never slows one down. Accounts have
 * their turns here too: a burst of one is not in the way of another's single task.
 */
export function createStartQueue(deps: StartQueueDeps): StartQueue {
  const limits = { ...defaults, ...deps.limits }
  const breaker = createBreaker({ nowMs: deps.nowMs, ...limits })
  const marks = createBatcher({
    flush: deps.markStarted,
    onError: (count, error) => deps.onEvent({ kind: 'mark_failed', count, error }),
  })
  const waiting = createFairLine<TaskStart>(limits.waiting)
  const underWay = new Set<Promise<void>>()
  let stopped = false

  const leave = (start: TaskStart, reason: 'full' | 'open' | 'stopped') =>
    deps.onEvent({ kind: 'left', taskId: start.taskId, reason })

  async function run(start: TaskStart): Promise<void> {
    const result = await deps.startTask(start)
    if (result.kind === 'failed') {
      breaker.failed()
      deps.onEvent({ kind: 'start_failed', taskId: start.taskId, reason: result.reason })
    } else {
      breaker.succeeded()
      marks.add(start.taskId)
    }
  }

  function pump(): void {
    while (underWay.size < Math.min(limits.parallel, breaker.allowed())) {
      const start = waiting.take()
      if (start === undefined) return
      const running = run(start).finally(() => {
        underWay.delete(running)
        pump()
      })
      underWay.add(running)
    }
    if (breaker.allowed() === 0) for (const start of waiting.drain()) leave(start, 'open')
  }

  return {
    enqueue: (start) => {
      if (stopped) return leave(start, 'stopped')
      if (breaker.allowed() === 0) return leave(start, 'open')
      const tooMany = waiting.add(start)
      if (tooMany !== undefined) leave(tooMany, 'full')
      pump()
    },
    depth: () => waiting.size() + underWay.size,
    stop: async () => {
      stopped = true
      for (const start of waiting.drain()) leave(start, 'stopped')
      await Promise.all(underWay)
      await marks.stop()
    },
  }
}
