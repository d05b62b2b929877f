import type { StartTask, TaskStart } from '../domain/ports/taskRuns.ts'
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

type StartQueueLimits = {
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

type Breaker = {
  /** How many calls may be under way: none while open, one as a probe, else any number. */
  readonly allowed: () => number
  readonly succeeded: () => void
  readonly failed: () => void
}

/** Opens after `failures` in a row for `pauseMs`; then one probe decides. `nowMs` is monotonic. */
function createBreaker(options: {
  readonly nowMs: () => number
  readonly failures: number
  readonly pauseMs: number
}): Breaker {
  let inARow = 0
  let openUntilMs = 0
  return {
    allowed: () => {
      if (inARow < options.failures) return Number.POSITIVE_INFINITY
      return options.nowMs() < openUntilMs ? 0 : 1
    },
    succeeded: () => {
      inARow = 0
    },
    failed: () => {
      inARow += 1
      if (inARow >= options.failures) openUntilMs = options.nowMs() + options.pauseMs
    },
  }
}

type Batcher = {
  readonly add: (id: string) => void
  /** Flushes what is left; resolves when no flush is under way. */
  readonly stop: () => Promise<void>
}

const sizeMax = 200
const delayMs = 50

/**
 * Gathers ids for `delayMs` and flushes them together, one flush at a time. A failed flush is told of
 * and dropped: for marks the reconciler makes good.
 */
function createBatcher(options: {
  readonly flush: (ids: readonly string[]) => Promise<void>
  readonly onError: (count: number, error: unknown) => void
}): Batcher {
  let gathered: string[] = []
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  async function flushAfter(earlier: Promise<void>): Promise<void> {
    await earlier
    const ids = gathered
    gathered = []
    if (ids.length === 0) return
    await options.flush(ids).catch((error: unknown) => options.onError(ids.length, error))
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    flushing = flushAfter(flushing)
    return flushing
  }

  return {
    add: (id) => {
      gathered.push(id)
      if (gathered.length >= sizeMax) void flush()
      else timer ??= setTimeout(() => void flush(), delayMs)
    },
    stop: flush,
  }
}
