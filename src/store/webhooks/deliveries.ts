import type { Pool, PoolClient } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { ListPage } from '../../domain/lists/list.ts'
import { mapPage } from '../../domain/lists/list.ts'
import { testDeliveriesMax } from '../../domain/webhooks/webhook.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { delivery } from '../../schema/answers/webhookAnswer.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import { isoSql } from '../isoSql.ts'
import type { Conditions, Page } from '../readPage.ts'
import { readPage } from '../readPage.ts'
import type { Row } from '../row.ts'

/** One event for one webhook, as answers have it. */
export type DeliveryJson = AnswerOf<typeof delivery>

export type DeliveryPage = Page & {
  readonly deliveryIds?: readonly string[]
  readonly status?: DeliveryJson['status']
}

/** Returns the deliveries of a webhook, newest first. */
export async function listDeliveries(
  pool: Pool,
  webhookId: string,
  { deliveryIds, status, ...page }: DeliveryPage,
): Promise<ListPage<DeliveryJson>> {
  const ofWebhook: Conditions = [['webhook_id = ?', webhookId]]
  const list = await readPage<Row<DeliveryJson>>(pool, page, {
    table: 'webhook_delivery',
    order: ['webhook_delivery.created_at', 'delivery_id'],
    direction: 'desc',
    scope: ofWebhook,
    filter: [...ofWebhook, ['delivery_id = any (?)', deliveryIds], ['status = ?', status]],
    select: (where, newest) => `select ${deliveryColumns} from webhook_delivery ${where} ${newest}`,
  })
  return mapPage(list, defined)
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
): Promise<DeliveryJson | 'missing' | 'disabled'> {
  const values = [deliveryId, webhookId ?? null]
  const wanted = 'delivery_id = $1 and ($2::text is null or webhook_id = $2)'
  const [due] = await runStatement<Row<DeliveryJson>>(pool, {
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
 * ended ones beyond `testDeliveriesMax` are deleted here, and the last ones with the webhook. Returns `disabled` when
 * the webhook is not active, and `too_many` when that many tests are pending.
 */
export async function insertTestDelivery(
  pool: Pool,
  webhookId: string,
): Promise<DeliveryJson | 'too_many' | 'disabled'> {
  return withTransaction<DeliveryJson | 'too_many' | 'disabled'>(pool, async (client) => {
    // Two tests of one webhook take turns, so that the second one counts the first.
    const { rowCount } = await client.query(
      `select from webhook where webhook_id = $1 and status = 'active' for no key update`,
      [webhookId],
    )
    if (rowCount === 0) return 'disabled'
    const pending = await client.query(
      `select from webhook_delivery where webhook_id = $1 and event = 'webhook.test' and status = 'pending'`,
      [webhookId],
    )
    if ((pending.rowCount ?? 0) >= testDeliveriesMax) return 'too_many'
    await client.query(
      `delete from webhook_delivery where status <> 'pending' and delivery_id in (
         select delivery_id from webhook_delivery where webhook_id = $1 and event = 'webhook.test'
         order by (status = 'pending') desc, created_at desc offset $2)`,
      [webhookId, testDeliveriesMax - 1],
    )
    const {
      rows: [made],
    } = await client.query<Row<DeliveryJson>>(
      `insert into webhook_delivery (webhook_id, event)
       values ($1, 'webhook.test') returning ${deliveryColumns}`,
      [webhookId],
    )
    if (made === undefined) throw new Error('Bug: an insert returned no row')
    return defined(made)
  })
}

const deliveryColumns = `delivery_id, webhook_id, event, task_id, status,
  ${isoSql('webhook_delivery.created_at', 'MS')} as created_at, attempts,
  ${isoSql('next_attempt_at', 'MS')} as next_attempt_at`
