import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import { retryFor } from './timeLimits.ts'

export type LeftTasks = {
  /**
   * Cancels a task whose last client has left, unless a call may have done work. Returns at once, and
   * tries again while PostgreSQL does not answer. Stops when `isAwaited` reports a new client.
   */
  readonly cancelLeft: (taskId: string, isAwaited: () => boolean) => void
  /** Waits until every cancellation was answered, at most for `limitMs`. For the end of the process. */
  readonly answered: (limitMs: number) => Promise<void>
}

/**
 * Cancels tasks behind the requests of clients that have left. A cancellation that PostgreSQL does not
 * answer is tried again until the task's deadline, after which no call begins: otherwise the client would
 * pay for a task that it left.
 */
export function createLeftTasks(deps: {
  readonly cancelTask: AttemptStore['cancelTask']
  /** How long a task may wait for its calls. */
  readonly taskDeadlineMs: number
}): LeftTasks {
  const underWay = new Set<Promise<unknown>>()

  async function cancel(taskId: string, isAwaited: () => boolean): Promise<void> {
    await retryFor(deps.taskDeadlineMs, async () => {
      if (!isAwaited()) await deps.cancelTask(taskId, 'client_left')
    }).catch(() => {})
  }

  return {
    cancelLeft: (taskId, isAwaited) => {
      const cancelling = cancel(taskId, isAwaited)
      underWay.add(cancelling)
      void cancelling.then(() => underWay.delete(cancelling))
    },
    answered: async (limitMs) => {
      await Promise.race([Promise.all(underWay), sleep(limitMs, undefined, { ref: false })])
    },
  }
}
