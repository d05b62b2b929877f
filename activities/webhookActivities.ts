import { Context } from '@temporalio/activity'
import type { ReportUnexpected } from './applicationFailure.ts'
import { reportingUnexpected } from './applicationFailure.ts'
import { defined } from '../src/domain/defined.ts'
import type { RetryDue } from '../src/tasks/webhooks/retryDue.ts'
import type { WebhookLook, WebhookRetriesInput } from '../workflows/contract.ts'

type WebhookActivityDeps = {
  readonly retryDue: RetryDue
  readonly onUnexpected: ReportUnexpected
  /** Aborts when the process is asked to stop. Tries under way finish, and no other try starts. */
  readonly stopping: AbortSignal
}

/**
 * Creates the activities of the runs of webhooks. Histories contain the activities' names, so these names must never
 * change.
 */
export function createWebhookActivities({ retryDue, onUnexpected, stopping }: WebhookActivityDeps) {
  return {
    /**
     * Repeats the deliveries of one webhook that are due. The address, the secret and the events stay in this
     * process: histories contain only the id of the webhook and the time until the next look.
     */
    retryDue: ({ webhookId }: WebhookRetriesInput): Promise<WebhookLook> =>
      reportingUnexpected(onUnexpected, { activity: 'retryDue', webhookId }, async () => {
        const signal = AbortSignal.any([stopping, Context.current().cancellationSignal])
        return defined({ waitMs: await retryDue(webhookId, signal) })
      }),
  }
}

/** The type of the activities. The workflow imports nothing else from this file. */
export type WebhookActivities = ReturnType<typeof createWebhookActivities>
