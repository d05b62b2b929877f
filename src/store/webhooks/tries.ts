import type { Pool, QueryConfig } from 'pg'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { DueWebhook, TryOutcome } from '../../domain/ports/webhookStore.ts'
import type { ClaimedDelivery } from '../../domain/webhooks/delivery.ts'
import type { Verdict } from '../../domain/webhooks/retries.ts'
import { inFlightMax, tryTimeoutMs } from '../../domain/webhooks/delivery.ts'
import type { SecretVersion } from '../../domain/webhooks/webhook.ts'
import { runStatement } from '../connection/transaction.ts'
import type { TaskViewRow } from '../tasks/readTask.ts'
import { taskViewColumns, taskViewOf } from '../tasks/readTask.ts'
import { firstTrySql } from './deliveries.ts'
import { disableWebhook } from './webhookAdmin.ts'

/**
 * The name under which NOTIFY tells the workers the id of a webhook that has due deliveries. A worker that ends a
 * task tells the others nothing, because it delivers the events of this task itself.
 */
export const webhookDueChannel = 'webhook_due'

/** Time to record the outcome of a try after the try itself is over. */
const recordGraceMs = 5_000

/**
 * How many tries of one delivery are kept. The oldest ones are dropped. A round has ten tries, so three rounds fit.
 */
const attemptsMax = 30

/**
 * Claims one delivery of an active webhook for one try: the delivery that has been due longest. Reads what the try
 * needs. `first` chooses first tries, `again` later ones. Returns `undefined` when no delivery is due, when the
 * webhook is not active, or when `inFlightMax` tries of the webhook are under way in all processes together.
 */
export async function claimDelivery(
  pool: Pool,
  webhookId: string,
  which: 'first' | 'again',
): Promise<ClaimedDelivery | undefined> {
  const leaseMs = tryTimeoutMs + recordGraceMs
  const claims = await runStatement<{ id: string | null; claim: number }>(pool, {
    name: 'claim-delivery',
    text: `select claimed_id as id, claim_number as claim from claim_delivery($1, $2, $3, $4)`,
    values: [webhookId, which === 'first', inFlightMax, leaseMs],
  })
  const [claim] = claims
  if (claim === undefined || claim.id === null) return undefined
  const { rows } = await pool.query<ClaimedRow & TaskViewRow>({
    name: 'read-claimed',
    text: readClaimedSql,
    values: [claim.id],
  })
  return rows[0] && claimedOf(rows[0], claim.claim)
}

type ClaimedRow = Pick<ClaimedDelivery, 'deliveryId' | 'event' | 'url' | 'tries'> & {
  readonly ofWebhook: string
  readonly deliveryCreatedAtMs: number
  readonly secrets: SecretVersion[]
}

/** Reads the previous secret too, as long as its time (`previous_until`) is not over when the try begins. */
const readClaimedSql = `
  select d.delivery_id as "deliveryId", d.webhook_id as "ofWebhook", d.event, d.tries, w.url,
    (extract(epoch from d.created_at) * 1000)::float8 as "deliveryCreatedAtMs",
    jsonb_build_array(jsonb_build_object('keyId', w.key_id, 'version', w.version))
      || case when w.previous_until > clock_timestamp() then jsonb_build_array(
        jsonb_build_object('keyId', w.previous_key_id, 'version', w.version - 1))
      else '[]' end as secrets,
    t.*
  from webhook_delivery d join webhook w using (webhook_id)
  left join lateral (select ${taskViewColumns} from task where task.task_id = d.task_id) t on true
  where d.delivery_id = $1 and w.status = 'active'`

function claimedOf(row: ClaimedRow & TaskViewRow, claim: number): ClaimedDelivery {
  const { deliveryId, ofWebhook, event, url, secrets, tries, deliveryCreatedAtMs } = row
  const task = event === 'webhook.test' ? undefined : taskViewOf(row)
  return {
    deliveryId,
    webhookId: ofWebhook,
    event,
    url,
    secrets,
    createdAtMs: deliveryCreatedAtMs,
    tries,
    claim,
    ...defined({ task }),
  }
}

/**
 * Records the outcome of a try, and what follows from it. While this worker stood still, another worker may have
 * claimed the delivery again. Then a success of this worker still counts, and a failure does not.
 *
 * Returns whether the caller must start or wake the webhook's run, so that it makes the next try in time. The caller
 * must do so when there is no run, when the run counts as lost, and when the run looks for due deliveries only after
 * the next try is due.
 */
export async function recordTry(
  pool: Pool,
  claimed: ClaimedDelivery,
  outcome: TryOutcome,
  verdict: Verdict,
): Promise<{ readonly needsRun: boolean }> {
  const { httpStatus = null, error = null, durationMs } = outcome
  const record: QueryConfig = {
    name: 'record-try',
    text: recordSql,
    values: [
      claimed.deliveryId,
      claimed.claim,
      claimed.webhookId,
      statusAfter(verdict),
      verdict.kind === 'retry' ? verdict.waitMs : null,
      JSON.stringify(defined({ httpStatus, error })),
      durationMs,
      attemptsMax,
    ],
  }
  if (verdict.kind === 'gone') {
    await disableWebhook(pool, claimed.webhookId, (client) => client.query(record))
    return { needsRun: false }
  }
  const rows = await runStatement<{ needsRun: boolean }>(pool, record)
  return { needsRun: rows[0]?.needsRun ?? false }
}

function statusAfter(verdict: Verdict): 'pending' | 'delivered' | 'failed' {
  switch (verdict.kind) {
    case 'delivered':
      return 'delivered'
    case 'retry':
      return 'pending'
    case 'gone':
    case 'given_up':
      return 'failed'
    default:
      return assertNever(verdict)
  }
}

/** When a run has not looked for due deliveries this long after its planned time, it counts as lost. */
export const lateAfter = `interval '30 seconds'`

/**
 * This statement and the run's `planLook` lock the same row of `webhook_health`, so one of them waits for the other.
 * If this statement is first, `planLook` sees the delivery, and the run goes on. If `planLook` is first, this
 * statement sees that the run ends. So no delivery that must be repeated is left without a run.
 */
const recordSql = `
  with health as materialized (
    select run_looks_at, failing_since from webhook_health where webhook_id = $3 for update
  ), recorded as (
    update webhook_delivery set status = $4, tries = tries + 1, claimed_until = null,
      next_attempt_at = clock_timestamp() + $5::float8 * interval '1 millisecond',
      attempts = case when jsonb_array_length(attempts) >= $8 then attempts - 0 else attempts end
        || jsonb_build_array($6::jsonb || jsonb_build_object('atMs',
          floor(extract(epoch from clock_timestamp()) * 1000 - $7::float8)))
    from health
    where delivery_id = $1 and status = 'pending' and (claim = $2 or $4 = 'delivered')
    returning next_attempt_at
  ), changed as (
    update webhook_health
    set failing_since = case when $4 = 'delivered' then null else clock_timestamp() end
    from health
    where webhook_id = $3 and (health.failing_since is null) = ($4 <> 'delivered')
  )
  select next_attempt_at is not null and (run_looks_at is null
    or run_looks_at > next_attempt_at
    or run_looks_at < clock_timestamp() - ${lateAfter}) as "needsRun"
  from recorded, health`

/**
 * Lists active webhooks that have due first tries. Says for each webhook how many such tries it has, counted up to
 * `inFlightMax`. The query finds each further webhook by a look-up in the index, so it does not read all deliveries
 * of a webhook that has many.
 */
export async function dueWebhooks(pool: Pool, limit: number): Promise<readonly DueWebhook[]> {
  const { rows } = await pool.query<DueWebhook>({
    name: 'due-webhooks',
    text: dueSql,
    values: [limit, inFlightMax],
  })
  return rows
}

const dueSql = `
  with recursive pending as (
    (select webhook_id from webhook_delivery where ${firstTrySql} order by webhook_id limit 1)
    union all
    select (
      select d.webhook_id from webhook_delivery d
      where ${firstTrySql} and d.webhook_id > pending.webhook_id order by d.webhook_id limit 1)
    from pending where pending.webhook_id is not null
  )
  select w.webhook_id as "webhookId", w.account_id as "accountId",
    h.failing_since is not null as failing, counted.due
  from pending
  join webhook w using (webhook_id)
  join webhook_health h using (webhook_id)
  cross join lateral (
    select count(*)::int as due from (
      select from webhook_delivery d
      where d.webhook_id = pending.webhook_id and ${firstTrySql}
        and next_attempt_at <= clock_timestamp()
        and (claimed_until is null or claimed_until <= clock_timestamp())
      limit $2) each) counted
  where w.status = 'active' and counted.due > 0
  limit $1`
