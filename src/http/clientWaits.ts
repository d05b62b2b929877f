import type { ServerResponse } from 'node:http'
import type { TaskView } from '../domain/tasks/task.ts'
import type { Accepted } from '../tasks/acceptTask.ts'
import type { TaskService } from '../tasks/taskService.ts'

/** The clients of this API process that wait for a task: synchronous calls, lookups and event streams. */
export type ClientWaits = ReturnType<typeof createClientWaits>

export type WaitersMax = { readonly account: number; readonly process: number }

/**
 * Each waiting lookup or stream costs a connection and some memory, and adds a task to the statement that reads all
 * watched tasks once a second. One account gets at most half of the places, so that it cannot keep out the others.
 */
export const waitersMaxDefault: WaitersMax = { account: 2_500, process: 5_000 }

export const tooManyWaiters = { tag: 'too_many_waiters', retryAfterSeconds: 5 } as const

/**
 * Creates the waits of one API process. All waiting lookups and streams of events leave when `stopping` aborts, and
 * streamed calls `syncDeadlineMs` later.
 */
export function createClientWaits(
  tasks: Pick<TaskService, 'awaitEnd' | 'cancelLeft'>,
  {
    stopping,
    syncDeadlineMs,
    max = waitersMaxDefault,
  }: {
    readonly stopping: AbortSignal
    readonly syncDeadlineMs: number
    readonly max?: WaitersMax | undefined
  },
) {
  const calls = createCounts()
  const taken = new Set<() => void>()
  const takenBy = createCounts()
  const drained = new AbortController()
  stopping.addEventListener('abort', () => {
    for (const leave of taken) leave()
    setTimeout(() => drained.abort(), syncDeadlineMs).unref()
  })

  /**
   * Waits for the end of the task of a synchronous call. After `syncDeadlineMs`, or when the client has left, returns the
   * task as it is then. A stream waits longer: until the process has been stopping for `syncDeadlineMs`. If no other
   * client of this process waits for the task of one that has left, the task is cancelled, unless a call may have done
   * work. Returns `missing` when the task has no row: see `awaitEnd.ts`.
   *
   * The clients of each task are counted: a client whose connection broke often sends its request again with the same
   * key. The second connection then joins the task before Darkroom notices that the first one is dead, and the task
   * must not be cancelled. The count leaves out clients of other API processes, and a client that joins during the
   * cancellation. These are answered with a 500 that may be repeated.
   */
  async function untilEnd(
    { taskId, replayed }: Pick<Accepted, 'taskId' | 'replayed'>,
    response: ServerResponse,
    isStream: boolean,
  ): Promise<TaskView | 'missing'> {
    calls.add(taskId, 1)
    try {
      const over = isStream ? drained.signal : AbortSignal.timeout(syncDeadlineMs)
      const signal = AbortSignal.any([clientLeft(response), over])
      return await tasks.awaitEnd(taskId, signal, { isNew: !replayed })
    } finally {
      if (calls.add(taskId, -1) === 0 && response.closed) {
        tasks.cancelLeft(taskId, () => calls.of(taskId) > 0)
      }
    }
  }

  /**
   * Takes a place for a lookup or a stream. Returns `undefined` when the account or the process has no more places.
   * The signal aborts when the waiter must not wait any longer: its client has left, or the process stops. `leave`
   * gives the place back and aborts the signal. A second call does nothing.
   */
  function take(accountId: string, response: ServerResponse) {
    if (taken.size >= max.process || takenBy.of(accountId) >= max.account) return undefined
    const stop = new AbortController()
    const leave = () => {
      if (!taken.delete(leave)) return
      takenBy.add(accountId, -1)
      stop.abort()
    }
    taken.add(leave)
    takenBy.add(accountId, 1)
    clientLeft(response).addEventListener('abort', leave)
    if (response.closed || stopping.aborted) leave()
    return { signal: stop.signal, leave }
  }

  return { untilEnd, take }
}

/** The whole request has been read. After that, only the response reports that its client has left. */
export function clientLeft(response: ServerResponse): AbortSignal {
  const left = new AbortController()
  // Without a reason, Node would make an error with its stack for each call.
  const leave = () => left.abort('the response is closed')
  response.once('close', leave)
  if (response.closed) leave()
  return left.signal
}

/** Numbers by their names. Those that are 0 take no memory. */
function createCounts() {
  const counts = new Map<string, number>()
  const of = (name: string): number => counts.get(name) ?? 0
  function add(name: string, change: 1 | -1): number {
    const count = of(name) + change
    if (count === 0) counts.delete(name)
    else counts.set(name, count)
    return count
  }
  return { of, add }
}
