import type { Pool } from 'pg'
import type { WebhookRun } from '../../domain/ports/webhookStore.ts'
import { inFlightMax, lookTimeoutMs } from '../../domain/webhooks/delivery.ts'
import { withTransaction } from '../connection/transaction.ts'
import { laterTrySql } from './deliveries.ts'
import { lateAfter } from './tries.ts'

/**
 * Records when the run of a webhook will look for due deliveries again, and returns the milliseconds until that time.
 * With `workMs`, a look begins now, and the next one is planned for `workMs` from now. Without `workMs`, the time is
 * when the earliest repetition of a delivery is due. But while `inFlightMax` tries are under way, no other try can
 * begin, so the time is not before the first of their claims ends. Returns `undefined` when no delivery waits for a
 * repetition. Then the run can end, and the next try that fails starts another run.
 *
 * The statement reads one delivery more than can be claimed, in the order of their times. At least one of them is not
 * claimed, and no later delivery is due before it.
 */
export async function planLook(
  pool: Pool,
  webhookId: string,
  workMs?: number,
): Promise<number | undefined> {
  return withTransaction(pool, async (client) => {
    await client.query('select from webhook_health where webhook_id = $1 for update', [webhookId])
    const { rows } = await client.query<{ waitMs: number | null }>(
      `update webhook_health set run_looks_at = case
         when $2::float8 is not null then clock_timestamp() + $2 * interval '1 millisecond'
         else (
           select greatest(min(greatest(next_attempt_at, claimed_until)), (
             select min(claimed_until) from webhook_delivery
             where webhook_id = $1 and claimed_until > clock_timestamp() having count(*) >= $3))
           from (
             select next_attempt_at, claimed_until from webhook_delivery
             where webhook_id = $1 and ${laterTrySql}
             order by next_attempt_at limit $3 + 1) earliest
           having count(*) > 0) end
       where webhook_id = $1
       returning (extract(epoch from run_looks_at - clock_timestamp()) * 1000)::float8 as "waitMs"`,
      [webhookId, workMs ?? null, inFlightMax],
    )
    const waitMs = rows[0]?.waitMs ?? undefined
    return waitMs === undefined ? undefined : Math.max(0, waitMs)
  })
}

/**
 * Lists active webhooks with deliveries to repeat that no run will repeat in time: there is no run, or its look is late
 * by `lateAfter`, or it sleeps although a delivery is late. The last happens when a worker could not wake the run, or
 * was lost before it did. A run that works has planned its look for the end of its work.
 */
export async function webhooksWithoutRun(
  pool: Pool,
  limit: number,
): Promise<readonly WebhookRun[]> {
  const { rows } = await pool.query<WebhookRun>({
    name: 'webhooks-without-run',
    text: withoutRunSql,
    values: [limit, lookTimeoutMs],
  })
  return rows
}

/**
 * The conditions on the run stand outside of the search for a delivery, so that nothing is searched for a run that
 * works, however many deliveries it has to repeat.
 */
const withoutRunSql = `
  select w.webhook_id as "webhookId", w.account_id as "accountId"
  from webhook w join webhook_health h using (webhook_id)
  where w.status = 'active' and (
    (run_looks_at is null or run_looks_at < clock_timestamp() - ${lateAfter})
    and exists (
      select from webhook_delivery d
      where d.webhook_id = w.webhook_id and ${laterTrySql})
    or run_looks_at > clock_timestamp() + $2 * interval '1 millisecond'
    and exists (
      select from webhook_delivery d
      where d.webhook_id = w.webhook_id and ${laterTrySql}
        and d.next_attempt_at < now() - ${lateAfter}))
  limit $1`
