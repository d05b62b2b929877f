import type { PoolClient } from 'pg'
import type { OutcomeClass, OutcomeEvidence } from '../domain/upstreamOutcome.ts'

/** An attempt just closed: where it was made, when (epoch milliseconds), and what is held against its channel. */
export type ClosedAttempt = {
  readonly channel: string
  readonly openedAtMs: number
  /** Its model on its channel was refused lately. */
  readonly hasCooldown: boolean
  /** The channel met operator's faults last. */
  readonly hasFaults: boolean
}

/**
 * Closes one attempt if it is still open; `undefined` when it is not (somebody gave it up for lost). The
 * task's row is locked by the caller.
 */
export async function closeOpenAttempt(
  client: PoolClient,
  taskId: string,
  n: number,
  outcome: OutcomeClass,
  evidence: OutcomeEvidence,
  retryAfterMs?: number,
): Promise<ClosedAttempt | undefined> {
  const closed = await client.query<ClosedAttempt>({
    name: 'close-attempt',
    text: closeSql,
    values: [
      taskId,
      n,
      outcome,
      evidence.reason,
      evidence.httpStatus ?? null,
      evidence.upstreamRequestId ?? null,
      evidence.latencyMs === undefined ? null : Math.round(evidence.latencyMs),
      retryAfterMs === undefined ? null : Math.round(retryAfterMs),
    ],
  })
  return closed.rows[0]
}

const closeSql = `
  update attempt set closed_at = clock_timestamp(), class = $3, reason = $4, http_status = $5,
    upstream_request_id = $6, latency_ms = $7, retry_after_ms = $8
  where task_id = $1 and n = $2 and closed_at is null
  returning channel, (extract(epoch from opened_at) * 1000)::float8 as "openedAtMs",
    exists (
      select from cooldown d where d.channel = attempt.channel and d.model = attempt.model
    ) as "hasCooldown",
    exists (select from channel c where c.name = attempt.channel and c.faults > 0) as "hasFaults"`

/** Of a task that ends ($1): attempts whose worker had its time. Nobody else would ever close them. */
export const closeLostSql = `
  update attempt set closed_at = statement_timestamp(), class = 'unknown', reason = 'worker_lost'
  where task_id = $1 and closed_at is null and lease_until <= statement_timestamp()`
