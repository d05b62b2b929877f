import type { Pool, PoolClient } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { Delivery } from '../../domain/webhooks/delivery.ts'
import { testDeliveriesMax } from '../../domain/webhooks/webhook.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import type { Row } from '../row.ts'

/** The id of a new delivery, which is also the `webhook-id` of all its tries. */
export const newDeliveryIdSql = `'whd_' || replace(gen_random_uuid()::text, '-', '')`

/** One page of deliveries, newest first. `after` is the id of the last delivery of the previous page. */
export type DeliveryPage = {
  readonly limit: number
  readonly after?: string
  readonly status?: Delivery['status']
}

/** Returns the deliveries of a webhook, newest first. */
export async function listDeliveries(
  pool: Pool,
  webhookId: string,
  { limit, after, status }: DeliveryPage,
): Promise<readonly Delivery[]> {
  const values: unknown[] = [webhookId, limit]
  const conditions: string[] = []
  if (status !== undefined) conditions.push(`and status = $${values.push(status)}`)
  if (after !== undefined) {
    conditions.push(`and (created_at, delivery_id) < (
      select created_at, delivery_id from webhook_delivery where delivery_id = $${values.push(after)})`)
  }
  const { rows } = await pool.query<Row<Delivery>>(
    `select ${deliveryColumns} from webhook_delivery where webhook_id = $1 ${conditions.join(' ')}
     order by created_at desc, delivery_id desc limit $2`,
    values,
  )
  return rows.map(defined)
}

/** Returns a delivery of the webhook, or `undefined` when the webhook has no such delivery. */
export async function readDelivery(
  pool: Pool,
  webhookId: string,
  deliveryId: string,
): Promise<Delivery | undefined> {
  const { rows } = await pool.query<Row<Delivery>>(
    `select ${deliveryColumns} from webhook_delivery where webhook_id = $1 and delivery_id = $2`,
    [webhookId, deliveryId],
  )
  return rows[0] && defined(rows[0])
}

/**
 * Makes a delivery due now and begins a new round of tries. The delivery keeps its id and its earlier tries. A try may
 * be under way. Because of the new claim number, a failure of that try no longer counts, and the new round begins when
 * the claim of that try has ended. Returns `disabled` when its webhook is not active, and `missing` when there is no such
 * delivery, of this webhook or of any that is not deleted.
 */
export async function redeliver(
  pool: Pool | PoolClient,
  deliveryId: string,
  webhookId?: string,
): Promise<Delivery | 'missing' | 'disabled'> {
  const values = [deliveryId, webhookId ?? null]
  const wanted = 'delivery_id = $1 and ($2::text is null or webhook_id = $2)'
  const [due] = await runStatement<Row<Delivery>>(pool, {
    text: `update webhook_delivery
      set status = 'pending', tries = 0, next_attempt_at = clock_timestamp(), claim = claim + 1
      where ${wanted} and webhook_id in (select webhook_id from webhook where status = 'active')
      returning ${deliveryColumns}`,
    values,
  })
  if (due !== undefined) return defined(due)
  const found = await runStatement(pool, {
    text: `select from webhook_delivery
      where ${wanted} and webhook_id in (select webhook_id from webhook where status <> 'deleted')`,
    values,
  })
  return found.length === 0 ? 'missing' : 'disabled'
}

/**
 * Inserts a delivery of `webhook.test`. Test deliveries belong to no task, so no purge deletes them: the oldest
 * ended ones beyond `testDeliveriesMax` are deleted here. Returns `undefined` when the webhook is not active, and
 * `too_many` when that many tests are pending.
 */
export async function insertTestDelivery(
  pool: Pool,
  webhookId: string,
): Promise<Delivery | 'too_many' | undefined> {
  return withTransaction<Delivery | 'too_many' | undefined>(pool, async (client) => {
    // Two tests of one webhook take turns, so that the second one counts the first.
    const { rowCount } = await client.query(
      `select from webhook where webhook_id = $1 and status = 'active' for no key update`,
      [webhookId],
    )
    if (rowCount === 0) return undefined
    const pending = await client.query(
      `select from webhook_delivery where webhook_id = $1 and task_id is null and status = 'pending'`,
      [webhookId],
    )
    if ((pending.rowCount ?? 0) >= testDeliveriesMax) return 'too_many'
    await client.query(
      `delete from webhook_delivery where status <> 'pending' and delivery_id in (
         select delivery_id from webhook_delivery where webhook_id = $1 and task_id is null
         order by (status = 'pending') desc, created_at desc offset $2)`,
      [webhookId, testDeliveriesMax - 1],
    )
    const { rows } = await client.query<Row<Delivery>>(
      `insert into webhook_delivery (delivery_id, webhook_id, event)
       values (${newDeliveryIdSql}, $1, 'webhook.test') returning ${deliveryColumns}`,
      [webhookId],
    )
    return rows[0] && defined(rows[0])
  })
}

const deliveryColumns = `delivery_id as "deliveryId", webhook_id as "webhookId", event,
  task_id as "taskId", status, (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
  attempts, (extract(epoch from next_attempt_at) * 1000)::float8 as "nextAttemptAtMs"`
