import type { Pool, PoolClient } from 'pg'
import type { Channel } from '../../domain/channel.ts'
import { defined } from '../../domain/defined.ts'
import type { Family } from '../../domain/models.ts'
import type { AttemptClose } from '../../domain/ports/attemptStore.ts'
import type { OutcomeClass, OutcomeEvidence } from '../../domain/upstreamCall.ts'
import { noteOutcome } from '../channels/noteOutcome.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { LockedTask } from '../tasks/lockTask.ts'
import { lockTask } from '../tasks/lockTask.ts'

/**
 * Closes an attempt that brought no image, and tells channel and cooldown. Repeating it, or closing an
 * attempt that was given up for lost meanwhile, changes nothing.
 */
export function createCloseAttempt(deps: {
  readonly pool: Pool
  readonly channelsOf: (family: Family) => readonly Channel[]
}) {
  return async (close: AttemptClose): Promise<void> =>
    withTransaction(deps.pool, async (client) => {
      const task = await lockTask(client, close.taskId)
      if (task === undefined) return
      if (!(await concludeAttempt(client, deps.channelsOf, task, close))) return
      const { taskId, nativeRefusal } = close
      await client.query({
        name: 'after-attempt',
        text: afterSql,
        values: [taskId, nativeRefusal === undefined ? null : JSON.stringify(nativeRefusal)],
      })
    })
}

/**
 * The next look was to come behind the lease. Now the worker goes on at once, to a wait or to the end;
 * should it die before, the task is not to stay until then. Half a minute is more than it needs, so that
 * the end it has found is not overtaken by one of the reconciler's.
 */
const afterSql = `
  update task set next_check_at = least(next_check_at, now() + interval '30 seconds'),
    native_refusal = coalesce($2, native_refusal)
  where task_id = $1`

type ConcludedAttempt = {
  readonly n: number
  readonly class: OutcomeClass
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
}

/**
 * Closes an attempt of a locked task by what its call met, and tells channel and cooldown. False: it was
 * closed before (or given up for lost), nothing changed. The task may have ended: the call has ended now.
 */
export async function concludeAttempt(
  client: PoolClient,
  channelsOf: (family: Family) => readonly Channel[],
  task: Pick<LockedTask, 'taskId' | 'family' | 'model'>,
  met: ConcludedAttempt,
): Promise<boolean> {
  const { taskId, family, model } = task
  const { n, evidence, retryAfterMs } = met
  const closed = await closeOpenAttempt(client, taskId, n, met.class, evidence, retryAfterMs)
  if (closed === undefined) return false
  const channel = channelsOf(family).find(({ name }) => name === closed.channel)
  if (channel === undefined) return true
  await noteOutcome(client, {
    taskId,
    model,
    channel,
    closed,
    class: met.class,
    evidence,
    ...defined({ retryAfterMs }),
  })
  return true
}

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
