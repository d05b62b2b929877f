import type { WebhookEvent } from '../../domain/webhooks/webhook.ts'

/** The id of a new delivery, which is also the `webhook-id` of all its tries. */
export const newDeliveryIdSql = `'whd_' || replace(gen_random_uuid()::text, '-', '')`

/**
 * Returns the part of a `with` clause that writes one delivery for each webhook of the account that receives the
 * event. It is part of the statement that ends the task, so that no end is without its deliveries. The lock makes
 * a statement that disables or deletes the webhook wait, so that it sees this delivery.
 */
export function deliveriesSql(
  event: WebhookEvent,
  params: { readonly task: string; readonly account: string },
): string {
  return `delivery as (
    insert into webhook_delivery (delivery_id, webhook_id, task_id, event)
    select ${newDeliveryIdSql}, webhook_id, ${params.task}, '${event}'
    from (
      select webhook_id from webhook
      where account_id = ${params.account} and status = 'active' and '${event}' = any(events)
      for share
    ) as receiving
    returning webhook_id
  )`
}

/** The end of the same statement. Its rows are of the type `DueWebhook`. */
export const dueAfterEndSql: string = `
  select webhook_id as "webhookId", account_id as "accountId",
    failing_since is not null as failing, 1 as due
  from delivery join webhook using (webhook_id) join webhook_health using (webhook_id)`
