import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { WebhookActivities } from '../activities/webhookActivities.ts'
import type { WebhookRetriesInput } from './contract.ts'
import { wakeSignalName, webhookTaskQueue } from './contract.ts'
import { lookTimeoutMs } from '../src/domain/webhooks/delivery.ts'

/**
 * The shortest sleep. A due delivery can wait for a slot that first tries hold. Without this limit the run would
 * then call the activity without a pause.
 */
const waitMsMin = 1_000

const wakeSignal = defineSignal(wakeSignalName)

const { retryDue } = proxyActivities<WebhookActivities>({
  taskQueue: webhookTaskQueue,
  startToCloseTimeout: lookTimeoutMs,
  retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' },
})

/**
 * Repeats the deliveries of one webhook that failed. The activity tries what is due and returns when to look
 * again; in between the run sleeps, or is woken because a delivery becomes due earlier. It ends when nothing is
 * pending. PostgreSQL knows all deliveries, so a run can be lost and started again.
 */
export async function webhookRetries(input: WebhookRetriesInput): Promise<void> {
  let woken = false
  setHandler(wakeSignal, () => {
    woken = true
  })
  for (;;) {
    woken = false
    const { waitMs } = await retryDue(input)
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof webhookRetries>(input)
    if (waitMs === undefined) {
      // A signal that arrives now is not lost: the server then lets this code run again before the run ends.
      if (woken) continue
      return
    }
    await condition(() => woken, Math.max(waitMsMin, Math.ceil(waitMs)))
  }
}
