import type { Pool } from 'pg'
import type { ClaimedDelivery, DeliveryError } from '../../domain/webhooks/delivery.ts'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { Verdict } from '../../domain/webhooks/retries.ts'
import { runStatement } from '../connection/transaction.ts'
import { isoSql } from '../isoSql.ts'
import { endPending } from './webhookRows.ts'

/** What came of a try: a status when the receiver answered, an error when it did not. */
export type TryOutcome = {
  readonly httpStatus?: number
  readonly error?: DeliveryError
  readonly durationMs: number
}

/**
 * How many tries of one delivery are kept. The oldest ones are dropped. A round has ten tries, so three rounds fit.
 */
const attemptsMax = 30

/**
 * Records the outcome of a try, when the next one is due, and how the receiver does. While this worker stood still,
 * another one may have claimed the delivery again. Then a success of this worker still counts, and a failure does
 * not. After `gone` the webhook is disabled and what it has pending fails.
 */
export async function recordTry(
  pool: Pool,
  claimed: ClaimedDelivery,
  { httpStatus, error, durationMs }: TryOutcome,
  verdict: Verdict,
): Promise<void> {
  const changed = await runStatement(pool, {
    name: 'record-try',
    text: recordSql,
    values: [
      claimed.deliveryId,
      claimed.claim,
      claimed.webhookId,
      statusAfter(verdict),
      verdict.kind === 'retry' ? verdict.waitMs : null,
      JSON.stringify(defined({ http_status: httpStatus, error })),
      durationMs,
      attemptsMax,
      verdict.kind === 'gone',
    ],
  })
  if (verdict.kind === 'gone' && changed.length > 0) await endPending(pool, claimed.webhookId)
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

/** Changes the webhook only when its receiver begins or ceases to fail, or is gone, so that tries seldom wait for it. */
const recordSql = `
  with recorded as (
    update webhook_delivery set status = $4, tries = tries + 1, claimed_until = null,
      next_attempt_at = clock_timestamp() + $5::float8 * interval '1 millisecond',
      attempts = case when jsonb_array_length(attempts) >= $8 then attempts - 0 else attempts end
        || jsonb_build_array($6::jsonb || jsonb_build_object('at',
          ${isoSql(`(clock_timestamp() - $7::float8 * interval '1 millisecond')`, 'MS')}))
    where delivery_id = $1 and status = 'pending' and (claim = $2 or $4 = 'delivered')
    returning 1
  )
  update webhook set
    failing_since = case when $4 = 'delivered' then null else coalesce(failing_since, clock_timestamp()) end,
    status = case when $9 and status = 'active' then 'disabled' else status end
  where webhook_id = $3 and ((failing_since is null) = ($4 <> 'delivered') or $9)
    and ($4 = 'delivered' or exists (select from recorded))
  returning 1`
