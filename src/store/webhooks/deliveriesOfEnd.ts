import type { WebhookEvent } from '../../domain/webhooks/webhook.ts'

/** The id of a new delivery, which is also the `webhook-id` of all its tries. */
export const newDeliveryIdSql = `'whd_' || replace(gen_random_uuid()::text, '-', '')`

/**
 * Returns the part of a `with` clause that writes one delivery for each webhook that receives the event. The part
 * `done` of the same clause has ended the task, so no end is without its deliveries. A transaction that disables or
 * deletes the webhook waits for the lock that is taken here. So `endPending`, which follows it, sees this delivery and
 * ends it.
 */
export function deliveriesSql(event: WebhookEvent): string {
  return `delivery as (
    insert into webhook_delivery (delivery_id, webhook_id, task_id, event)
    select ${newDeliveryIdSql}, webhook_id, task_id, '${event}'
    from (
      select webhook.webhook_id, done.task_id from done join webhook using (account_id)
      where webhook.status = 'active' and '${event}' = any(webhook.events)
      for share of webhook
    ) as receiving
    returning webhook_id
  )`
}

/** Reads, in the statement that contains `deliveriesSql`, the webhooks that receive the event, as `DueWebhook`. */
export const dueAfterEndSql: string = `
  select webhook_id as "webhookId", account_id as "accountId",
    failing_since is not null as failing, 1 as due
  from delivery join webhook using (webhook_id) join webhook_health using (webhook_id)`
