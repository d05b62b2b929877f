import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { ClaimedDelivery } from '../../domain/webhooks/delivery.ts'
import { claimMs, inFlightMax } from '../../domain/webhooks/delivery.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { TaskViewRow } from '../taskRow.ts'
import { taskViewColumns } from '../taskRow.ts'

/** How many deliveries to claim at most, and whether also those of webhooks whose last try failed. */
export type ClaimRoom = { readonly claimsMax: number; readonly failingToo: boolean }

/**
 * Claims due deliveries of active webhooks for one try each, and reads what the tries need. Of each webhook it claims
 * those that have been due longest, so that at most `inFlightMax` tries are under way in all processes together.
 * Webhooks that do not fail come first, and those that are alike take turns, however old the backlog of one is.
 *
 * Most looks find nothing due, so a plain one comes before the transaction. In it the first statement locks the webhooks,
 * and the second one counts what is under way: by the re-check (docs/architecture.md) one statement would count as before
 * the lock, and two processes could claim four each. A webhook that another process has locked is left out: that process
 * claims its deliveries now. The lock does not delay the end of a task, whose new deliveries only need the webhook's key.
 */
export async function claimDue(
  pool: Pool,
  { claimsMax, failingToo }: ClaimRoom,
): Promise<readonly ClaimedDelivery[]> {
  const due = await pool.query({
    name: 'look-due-webhooks',
    text: dueWebhooksSql,
    values: [1, failingToo, inFlightMax],
  })
  if (due.rowCount === 0) return []
  return withTransaction<readonly ClaimedDelivery[]>(pool, async (client) => {
    const locked = await client.query<{ webhookId: string }>({
      name: 'lock-due-webhooks',
      text: `${dueWebhooksSql} for no key update of w skip locked`,
      values: [claimsMax, failingToo, inFlightMax],
    })
    if (locked.rows.length === 0) return []
    const { rows } = await client.query<ClaimedRow>({
      name: 'claim-due',
      text: claimSql,
      values: [locked.rows.map(({ webhookId }) => webhookId), claimsMax, inFlightMax, claimMs],
    })
    return rows.map(claimedOf)
  })
}

const underWaySql = `(select count(*) from webhook_delivery
  where webhook_id = w.webhook_id and claimed_until > statement_timestamp())`

const dueSql = `status = 'pending' and next_attempt_at <= statement_timestamp()
  and (claimed_until is null or claimed_until <= statement_timestamp())`

/**
 * What a webhook has due is found by one look-up in the index `webhook_delivery_due`, however many deliveries it has:
 * with `exists`, a plan made on an empty table would read all of them.
 */
const dueWebhooksSql = `
  select w.webhook_id as "webhookId" from webhook w
  where w.status = 'active' and ($2 or w.failing_since is null)
    and (select true from webhook_delivery where webhook_id = w.webhook_id and ${dueSql}
      order by next_attempt_at limit 1)
    and ${underWaySql} < $3
  order by w.failing_since is not null, random()
  limit $1`

/** Reads the previous secret too, as long as its time (`previous_until`) is not over when the try begins. */
const claimSql = `
  with due as materialized (
    select one.delivery_id
    from webhook w cross join lateral (
      select delivery_id, next_attempt_at from webhook_delivery
      where webhook_id = w.webhook_id and ${dueSql}
      order by next_attempt_at
      limit greatest(0, $3 - ${underWaySql})
      for update skip locked
    ) one
    where w.webhook_id = any($1)
    order by w.failing_since is not null,
      row_number() over (partition by w.webhook_id order by one.next_attempt_at)
    limit $2
  ), claimed as (
    update webhook_delivery d
    set claim = claim + 1, claimed_until = clock_timestamp() + $4 * interval '1 millisecond'
    from due where d.delivery_id = due.delivery_id
    returning d.*
  )
  select d.delivery_id as "deliveryId", d.webhook_id as "webhookId", d.event, d.data, d.tries, d.claim, w.url,
    (extract(epoch from d.created_at) * 1000)::float8 as "createdAtMs",
    jsonb_build_array(jsonb_build_object('keyId', w.key_id, 'version', w.version))
      || case when w.previous_until > clock_timestamp() then jsonb_build_array(
        jsonb_build_object('keyId', w.previous_key_id, 'version', w.version - 1))
      else '[]' end as secrets,
    (select to_json(t) from (select ${taskViewColumns} from task where task.task_id = d.task_id) t) as task
  from claimed d join webhook w using (webhook_id)`

type ClaimedRow = Omit<ClaimedDelivery, 'task' | 'data'> & {
  readonly task: TaskViewRow | null
  readonly data: object | null
}

function claimedOf({ task, data, ...row }: ClaimedRow): ClaimedDelivery {
  return { ...row, ...defined({ task: task && defined(task), data }) }
}
