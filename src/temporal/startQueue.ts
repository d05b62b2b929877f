import type { StartTask, TaskStart } from '../domain/ports/taskRuns.ts'
import { createFairQueue } from '../domain/fairQueue.ts'

export type StartQueue = {
  /**
   * Adds a start. Returns at once and never throws. The reconciler starts tasks that the queue does not
   * start.
   */
  readonly enqueue: (start: TaskStart) => void
  /** Returns the number of starts that wait or are running. */
  readonly depth: () => number
  /**
   * Stops accepting starts, and leaves those that wait to the reconciler. Resolves when the running starts are
   * finished and recorded.
   */
  readonly stop: () => Promise<void>
}

export type StartQueueDeps = {
  readonly startTask: StartTask
  /** Records in PostgreSQL that the workflows of these tasks exist. */
  readonly markStarted: (taskIds: readonly string[]) => Promise<void>
  readonly onEvent: (event: StartQueueEvent) => void
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
  readonly limits?: Partial<StartQueueLimits>
}

export type StartQueueEvent =
  | { readonly kind: 'start_failed'; readonly taskId: string; readonly reason: string }
  /**
   * The queue does not start this task, because the queue is full or stopped, or its breaker is open. The
   * reconciler will start it.
   */
  | { readonly kind: 'left'; readonly taskId: string; readonly reason: LeftReason }
  | { readonly kind: 'mark_failed'; readonly count: number; readonly error: unknown }

type LeftReason = 'full' | 'open' | 'stopped'

type StartQueueLimits = {
  /** Limit for the starts that run at the same time. */
  readonly parallel: number
  /** Limit for the starts that wait for their turn. */
  readonly waiting: number
  /** After this many failed starts in a row, the breaker opens for `pauseMs`. */
  readonly failures: number
  readonly pauseMs: number
}

const defaults: StartQueueLimits = { parallel: 16, waiting: 2_000, failures: 5, pauseMs: 2_000 }

/**
 * Creates the queue that starts the workflows of accepted tasks. `enqueue` returns at once, so nobody waits for a
 * slow Temporal. Synchronous tasks go before all others. Accounts take turns, so many tasks of one account do not
 * delay the task of another account.
 */
export function createStartQueue(deps: StartQueueDeps): StartQueue {
  const limits = { ...defaults, ...deps.limits }
  const breaker = createBreaker({ nowMs: deps.nowMs, ...limits })
  const marks = createBatcher({
    flush: deps.markStarted,
    onError: (count, error) => deps.onEvent({ kind: 'mark_failed', count, error }),
  })
  const waiting = createFairQueue<TaskStart>(limits.waiting)
  const underWay = new Set<Promise<void>>()
  let stopped = false

  function leave(start: TaskStart, reason: LeftReason): void {
    deps.onEvent({ kind: 'left', taskId: start.taskId, reason })
  }

  async function startNow(start: TaskStart): Promise<void> {
    const result = await deps.startTask(start)
    if (result.kind === 'failed') {
      breaker.failed()
      deps.onEvent({ kind: 'start_failed', taskId: start.taskId, reason: result.reason })
    } else {
      breaker.succeeded()
      marks.add(start.taskId)
    }
  }

  function startWaiting(): void {
    while (underWay.size < Math.min(limits.parallel, breaker.allowed())) {
      const start = waiting.take()
      if (start === undefined) return
      const running = startNow(start).finally(() => {
        underWay.delete(running)
        startWaiting()
      })
      underWay.add(running)
    }
    if (breaker.allowed() === 0) for (const start of waiting.drain()) leave(start, 'open')
  }

  return {
    enqueue: (start) => {
      if (stopped) return leave(start, 'stopped')
      if (breaker.allowed() === 0) return leave(start, 'open')
      const evicted = waiting.add(start)
      if (evicted !== undefined) leave(evicted, 'full')
      startWaiting()
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
  /**
   * Returns how many starts may run now: 0 while the breaker is open, 1 to test Temporal after the pause,
   * otherwise any number.
   */
  readonly allowed: () => number
  readonly succeeded: () => void
  readonly failed: () => void
}

/**
 * Creates a circuit breaker. After `failures` failed starts in a row it opens, which stops all starts for
 * `pauseMs`. Then it lets one start through. If that start succeeds, the breaker closes; if it fails, the
 * breaker opens again. `nowMs` reads a clock that never goes back.
 */
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
  /** Flushes the ids gathered so far. Resolves when no flush is running. */
  readonly stop: () => Promise<void>
}

const sizeMax = 200
const delayMs = 50

/**
 * Gathers ids until `delayMs` have passed or `sizeMax` ids are there, and flushes them together. Runs one flush at a
 * time. Reports a failed flush and does not repeat it. Later the reconciler finds the tasks that are not marked as
 * started. It starts them again, which is harmless, and marks them.
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
