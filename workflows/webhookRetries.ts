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
 * The shortest sleep. The activity can return 0, for example when more deliveries are due than one look could try.
 * Without this limit, the run would then call the activity again without a pause.
 */
const waitMsMin = 1_000

const wakeSignal = defineSignal(wakeSignalName)

const { retryDue } = proxyActivities<WebhookActivities>({
  taskQueue: webhookTaskQueue,
  startToCloseTimeout: lookTimeoutMs,
  retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' },
})

/**
 * Repeats the pending deliveries of one webhook whose last try failed. The activity tries what is due and returns
 * the time until the next look. Until then the run sleeps. A signal wakes it when a delivery becomes due earlier. The
 * run ends when no delivery waits for a repetition. PostgreSQL knows all deliveries, so a run can be lost and started
 * again.
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
      // A signal that came during the activity starts another look. A signal that comes after this line is not lost
      // either: Temporal then refuses to close the run, and this code runs again with the signal.
      if (woken) continue
      return
    }
    await condition(() => woken, Math.max(waitMsMin, Math.ceil(waitMs)))
  }
}
