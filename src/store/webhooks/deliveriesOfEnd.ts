import type { WebhookEvent } from '../../domain/webhooks/webhook.ts'

/** The id of a new delivery, which is also the `webhook-id` of all its tries. */
export const newDeliveryIdSql = `'whd_' || replace(gen_random_uuid()::text, '-', '')`

/**
 * Returns the part of a `with` clause that writes one delivery for each webhook that receives the event. The part
 * `done` of the same clause has ended tasks of one account, so no end is without its deliveries.
 *
 * The webhooks are not locked, so that ends of tasks wait for nobody. A webhook that is disabled at the same moment
 * may get a delivery: no worker claims it, and the reconciler ends it. When the row of a webhook is deleted at the same
 * moment, the foreign key refuses the statement, and `isRetryable` (transaction.ts) has it repeated.
 */
export function deliveriesSql(event: WebhookEvent): string {
  return `delivery as (
    insert into webhook_delivery (delivery_id, webhook_id, task_id, event)
    select ${newDeliveryIdSql}, webhook_id, done.task_id, '${event}'
    from done join webhook using (account_id)
    where webhook.account_id = (select account_id from done limit 1)
      and webhook.status = 'active' and '${event}' = any(webhook.events)
  )`
}
