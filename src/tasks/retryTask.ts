import type { RandomBytes } from '../domain/ids.ts'
import { newTaskId } from '../domain/ids.ts'
import { hardEndMs } from '../domain/deadlines.ts'
import type { Family } from '../domain/models.ts'
import type { Price } from '../domain/prices.ts'
import { creditsOf } from '../domain/prices.ts'
import type { RetryResult, TaskAdmin } from '../domain/ports/taskAdmin.ts'

export type RetryTaskDeps = {
  readonly admin: Pick<TaskAdmin, 'retryTask'>
  readonly prices: readonly Price[]
  readonly taskDeadlineMs: number
  readonly longestTimeoutMs: (family: Family) => number
  readonly randomBytes: RandomBytes
}

/** Retries a failed task at today's price and with a deadline of its own; the reconciler starts it. */
export function createRetryTask(deps: RetryTaskDeps) {
  return (taskId: string): Promise<RetryResult> =>
    deps.admin.retryTask({
      taskId,
      newTaskId: newTaskId(deps.randomBytes),
      termsOf: (request) => {
        const credits = creditsOf(deps.prices, { ...request, inputImages: request.inputs.length })
        if (credits === undefined)
          throw new Error(`Bug: a request of ${request.model} has no price`)
        const deadlineMs = deps.taskDeadlineMs
        const timeoutMs = deps.longestTimeoutMs(request.family)
        return { credits, deadlineMs, hardEndMs: hardEndMs(deadlineMs, timeoutMs) }
      },
    })
}
