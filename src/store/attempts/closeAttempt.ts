import type { Pool, PoolClient } from 'pg'
import type { Family } from '../../domain/models/models.ts'
import type {
  AbandonedAttempt,
  AttemptClose,
  AttemptOutcome,
} from '../../domain/ports/attemptStore.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { ClosedAttempt } from '../channels/updateChannelAfterCall.ts'
import { updateChannelAfterCall } from '../channels/updateChannelAfterCall.ts'
import { overdueMsSql } from './overdue.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { TaskState } from '../tasks/lockTask.ts'
import { lockTask, processPresentSql } from '../tasks/lockTask.ts'

type ChannelsOf = (family: Family) => readonly Channel[]

type CloseDeps = { readonly pool: Pool; readonly channelsOf: ChannelsOf }

/**
 * Closes an attempt that brought no image, and updates its channel. Does nothing when the outcome of the attempt is
 * recorded already.
 *
 * One recorded outcome is replaced: the gate closes an attempt as `worker_lost` when it counts the attempt's worker
 * as lost, and has to assume that the call may have done work. If the worker lives after all, the outcome that the
 * worker saw replaces this assumption. Otherwise a call that the upstream refused would count as a call that may have
 * done work.
 */
export async function closeAttempt(deps: CloseDeps, close: AttemptClose): Promise<void> {
  await withTransaction(deps.pool, async (client) => {
    const task = await lockTask(client, close.taskId)
    if (task !== undefined) await closeLocked(client, deps.channelsOf, task, close)
  })
}

/**
 * Closes the attempt of a call that its worker did not make. The attempt may not exist yet: when the worker has lost
 * its connection to PostgreSQL, the statement that opens the attempt may still be on its way there. This function
 * then inserts the row of the attempt's upload itself. The late statement inserts the same row, so it fails and opens
 * nothing.
 */
export async function abandonAttempt(
  deps: CloseDeps,
  { taskId, answerId }: AbandonedAttempt,
): Promise<void> {
  await withTransaction(deps.pool, async (client) => {
    const task = await lockTask(client, taskId)
    if (task === undefined) return
    const { rows } = await client.query<{ n: number }>(
      'select n from attempt where task_id = $1 and answer_id = $2',
      [taskId, answerId],
    )
    const [attempt] = rows
    if (attempt === undefined) {
      await client.query(preventSql, [answerId])
      return
    }
    const evidence = { reason: 'not_called' } as const
    const close = { taskId, n: attempt.n, class: 'refused', evidence } as const
    await closeLocked(client, deps.channelsOf, task, close)
  })
}

/**
 * The inserted row keeps the late statement from opening the attempt until the sweep deletes the row. An hour is far
 * longer than any statement of a lost connection can still run.
 */
const preventSql = `
  insert into upload (upload_id, kind, sweep_after)
  values ($1, 'answer', now() + interval '1 hour')
  on conflict do nothing`

async function closeLocked(
  client: PoolClient,
  channelsOf: ChannelsOf,
  task: TaskState,
  close: AttemptClose,
): Promise<void> {
  if (!(await recordOutcome(client, channelsOf, task, close))) return
  const { taskId, nativeRejection } = close
  await client.query({
    name: 'after-attempt',
    text: afterSql,
    values: [taskId, nativeRejection === undefined ? null : JSON.stringify(nativeRejection)],
  })
}

/**
 * Moves the task's next check to an earlier time. It was scheduled for the end of the call's lease, and now the call
 * is over. The worker records the next step of the task itself, so the check matters only if the worker dies before
 * that. Half a minute (`overdueAfterMs`) is more than a worker needs, so the reconciler does not end a task whose
 * worker is about to continue.
 *
 * The check of a task without a run comes after three seconds (`offerOverdueAfterMs`). It starts the task's workflow,
 * because nobody else continues such a task when its worker dies.
 */
const afterSql = `
  update task set next_check_at = least(next_check_at,
      now() + interval '1 millisecond' * ${overdueMsSql}),
    native_rejection = coalesce($2, native_rejection)
  where task_id = $1`

/**
 * Closes an attempt with the outcome of its call, and updates the channel. The caller has locked the task, which may
 * have ended before. Returns false when the outcome is recorded already. Then nothing changes.
 */
export async function recordOutcome(
  client: PoolClient,
  channelsOf: ChannelsOf,
  task: Pick<TaskState, 'taskId' | 'family' | 'model'>,
  outcome: AttemptOutcome,
): Promise<boolean> {
  const closed = await closeAttemptRow(client, task.taskId, outcome)
  if (closed === undefined) return false
  await tellChannel(client, channelsOf, task, { closed, outcome })
  return true
}

/** Updates the channel of an attempt that was just closed. */
export async function tellChannel(
  client: PoolClient,
  channelsOf: ChannelsOf,
  { taskId, family, model }: Pick<TaskState, 'taskId' | 'family' | 'model'>,
  { closed, outcome }: { readonly closed: ClosedAttempt; readonly outcome: AttemptOutcome },
): Promise<void> {
  // The channel may be gone, because the operator removed it from the operator's file during the call.
  const channel = channelsOf(family).find(({ name }) => name === closed.channel)
  if (channel === undefined) return
  await updateChannelAfterCall(client, { ...outcome, taskId, model, channel, closed })
}

/**
 * Closes the row of an attempt that is open or was closed as `worker_lost`. Does not update the channel. The caller
 * has locked the task. Returns `undefined` when the outcome is recorded already.
 */
export async function closeAttemptRow(
  client: PoolClient,
  taskId: string,
  outcome: AttemptOutcome,
): Promise<ClosedAttempt | undefined> {
  const { n, class: outcomeClass } = outcome
  const { reason, http_status, upstream_request_id, latency_ms, retry_after_ms } =
    evidenceColumns(outcome)
  const closed = await client.query<ClosedAttempt>({
    name: 'close-attempt',
    text: `update attempt set closed_at = statement_timestamp(), class = $3, reason = $4, http_status = $5,
        upstream_request_id = $6, latency_ms = $7, retry_after_ms = $8
      where task_id = $1 and n = $2 and ${isUnrecordedSql}
      returning ${closedColumns}`,
    values: [
      taskId,
      n,
      outcomeClass,
      reason,
      http_status,
      upstream_request_id,
      latency_ms,
      retry_after_ms,
    ],
  })
  return closed.rows[0]
}

/** The columns of `attempt` that say how a call ended. */
export function evidenceColumns({
  evidence,
  retryAfterMs,
}: Pick<AttemptOutcome, 'evidence' | 'retryAfterMs'>) {
  const { reason, httpStatus, upstreamRequestId, latencyMs } = evidence
  return {
    reason,
    http_status: httpStatus ?? null,
    upstream_request_id: upstreamRequestId ?? null,
    latency_ms: latencyMs === undefined ? null : Math.round(latencyMs),
    retry_after_ms: retryAfterMs === undefined ? null : Math.round(retryAfterMs),
  }
}

/** A condition on a row of `attempt`: its outcome is not recorded, or only assumed. */
export const isUnrecordedSql = `(attempt.closed_at is null or attempt.reason = 'worker_lost')`

/** The columns of `ClosedAttempt`. */
export const closedColumns = `channel, (extract(epoch from opened_at) * 1000)::float8 as "openedAtMs",
    exists (
      select from cooldown d where d.channel = attempt.channel and d.model = attempt.model
    ) as "hasCooldown",
    exists (select from channel c where c.name = attempt.channel and c.faults > 0) as "hasFaults"`

/**
 * Part of every statement that ends tasks. Closes those open attempts of the tasks whose process is lost or whose
 * lease has ended. `tasks` says which tasks, for example `= $1`. The workers that come later do not close these
 * attempts, because they ask the gate for live tasks only.
 *
 * An open attempt of a present process stays open, and its process closes it when the call ends. If that process is
 * lost before that, `loseCall` in `beats.ts` closes it.
 */
export function closeLostAttemptsSql(tasks: string): string {
  return `
  update attempt set closed_at = statement_timestamp(), class = 'unknown', reason = 'worker_lost'
  where attempt.task_id ${tasks} and reason is null
    and (lease_until <= statement_timestamp() or not ${processPresentSql})`
}
