import type { WebhookRetriesInput } from '../../workflows/contract.ts'
import {
  searchAttributes,
  wakeSignalName,
  webhookRetriesWorkflow,
  workflowTaskQueue,
} from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { webhookRunIdOf } from '../domain/ids.ts'
import type { WakeRun } from '../domain/ports/webhookStore.ts'
import { grpcReason } from './grpcReason.ts'

const wakeTimeoutMs = 2_000
/** After a failed call, no run is started or woken for this long. The reconciler starts the runs that are missing. */
const pauseMs = 5_000
/** Temporal serves lower numbers first. Tasks have 2 and 3. */
const webhookPriority = 4

/**
 * Returns the function that starts the run of a webhook, or wakes it if it sleeps. Each webhook has one run at
 * most. Calls for the same webhook at the same time are one call. Returns whether the call succeeded.
 */
export function createWakeRun(deps: {
  readonly temporal: Temporal
  readonly nowMs: () => number
}): WakeRun {
  const { client, withDeadline } = deps.temporal
  const underWay = new Map<string, Promise<boolean>>()
  let pausedUntilMs = 0

  async function wake(webhookId: string, accountId: string): Promise<boolean> {
    const input: WebhookRetriesInput = { webhookId }
    try {
      await withDeadline(wakeTimeoutMs, () =>
        client.workflow.signalWithStart(webhookRetriesWorkflow, {
          workflowId: webhookRunIdOf(webhookId),
          taskQueue: workflowTaskQueue,
          args: [input],
          signal: wakeSignalName,
          signalArgs: [],
          priority: { priorityKey: webhookPriority, fairnessKey: accountId },
          typedSearchAttributes: [{ key: searchAttributes.account, value: accountId }],
        }),
      )
      return true
    } catch (error) {
      grpcReason(error)
      pausedUntilMs = deps.nowMs() + pauseMs
      return false
    } finally {
      underWay.delete(webhookId)
    }
  }

  return async ({ webhookId, accountId }) => {
    if (deps.nowMs() < pausedUntilMs) return false
    const waking = underWay.get(webhookId) ?? wake(webhookId, accountId)
    underWay.set(webhookId, waking)
    return waking
  }
}
