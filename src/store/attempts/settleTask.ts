import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { AttemptOutcome, SettleInput } from '../../domain/ports/attemptStore.ts'
import type { DueWebhook } from '../../domain/ports/webhookStore.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import {
  closeAttemptSql,
  closedColumns,
  closeLostAttemptsSql,
  closeValues,
  recordOutcome,
  tellChannel,
} from './closeAttempt.ts'
import type { ClosedAttempt } from '../channels/updateChannelAfterCall.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import type { Lifetimes } from '../tasks/lifetimes.ts'
import { downloadGraceSql, unusedAnswerKeptSql } from '../tasks/lifetimes.ts'
import type { AnnounceEnd } from '../tasks/announceEnd.ts'
import { endedColumns, endHoldSql } from '../tasks/endHold.ts'
import { lockTask } from '../tasks/lockTask.ts'
import { deliveriesSql, dueAfterEndSql } from '../webhooks/deliveriesOfEnd.ts'

type SettleTaskDeps = Lifetimes & {
  readonly pool: Pool
  readonly announceEnd: AnnounceEnd
  readonly channelsOf: (family: Family) => readonly Channel[]
}

/**
 * Publishes a stored answer and settles the hold, if the task is still live. Returns false when the task had already
 * ended. Then nothing is published or charged.
 *
 * Closes the attempt in both cases. The call is over, but an open attempt would keep its place on the channel until
 * its lease ends.
 *
 * Most successes do not change the channel. If the channel has a cooldown or a count of faults, a second transaction
 * updates it.
 */
export async function settleTask(deps: SettleTaskDeps, input: SettleInput): Promise<boolean> {
  const { pool, channelsOf } = deps
  const publish = publishQuery(deps, input)
  const [published] = await runStatement<Published>(pool, publish)
  const settled = published ?? (await settleLocked(deps, input, publish))
  if (settled === undefined) return false
  deps.announceEnd(input.meta.taskId, settled.due)
  const { closed, family, model } = settled
  if (closed !== null && (closed.hasCooldown || closed.hasFaults)) {
    const task = { taskId: input.meta.taskId, family, model }
    const told = { closed, outcome: outcomeOf(input) }
    await withTransaction(pool, (client) => tellChannel(client, channelsOf, task, told))
  }
  return true
}

/**
 * Publishes the answer and settles the hold under the task's lock. If the task has ended, only records the outcome of
 * the call, and makes sure that the sweep deletes the answer. Needed when the task has ended, or when another
 * transaction changed it while the first statement ran.
 */
async function settleLocked(
  deps: SettleTaskDeps,
  input: SettleInput,
  publish: QueryConfig,
): Promise<Published | undefined> {
  return withTransaction(deps.pool, async (client) => {
    const task = await lockTask(client, input.meta.taskId)
    if (task !== undefined && !isEnded(task.status)) {
      return (await client.query<Published>(publish)).rows[0]
    }
    if (task !== undefined) await recordOutcome(client, deps.channelsOf, task, outcomeOf(input))
    await sweepLateAnswer(client, input)
    return undefined
  })
}

function outcomeOf({ meta, evidence = { reason: 'image' } }: SettleInput): AttemptOutcome {
  return { n: meta.attempt, class: 'succeeded', evidence }
}

/**
 * Makes sure that the sweep deletes an answer that was stored too late. A worker may stand still until after the hard
 * end, and then store its answer while the sweep deletes the answer's upload, or later. Then the row of the upload is
 * gone, or it is marked as taken by the sweep (`-infinity`). Without a row that is due, nothing would delete the
 * stored bytes. So this statement inserts the row or makes it due again. If the sweep has not taken the upload yet,
 * it does nothing.
 */
async function sweepLateAnswer(client: PoolClient, { meta, answerId }: SettleInput): Promise<void> {
  await client.query({
    name: 'sweep-late-answer',
    text: `insert into upload as swept (upload_id, kind, task_id, sweep_after)
      values ($1, 'answer', $2, now())
      on conflict (upload_id) do update set sweep_after = now(), next_try_at = null
        where swept.sweep_after = '-infinity'`,
    values: [answerId, meta.taskId],
  })
}

/** What the statement returns about the task that it has settled. */
type Published = {
  readonly family: Family
  readonly model: ModelId
  /** The attempt that was closed. `null` if its outcome had been recorded before. */
  readonly closed: ClosedAttempt | null
  readonly due: readonly DueWebhook[]
}

function publishQuery(
  { retentionSeconds, tombstoneSeconds }: Lifetimes,
  input: SettleInput,
): QueryConfig {
  const { meta, answerId } = input
  return {
    name: 'publish-answer',
    text: publishSql,
    values: [
      ...closeValues(meta.taskId, outcomeOf(input)),
      answerId,
      meta.image.mimeType,
      meta.image.bytes,
      meta.image.sha256,
      retentionSeconds,
      retentionSeconds + tombstoneSeconds,
      JSON.stringify(meta.native),
    ],
  }
}

/**
 * Closes the attempt and ends the task as succeeded. Deletes the prompt and makes the inputs due for the sweep now,
 * because nothing needs them any more. The sweep deletes the stored answers later: the published one after its image
 * has expired, and any others after the hard end (both with the extra times in `lifetimes.ts`).
 *
 * This statement is a transaction of its own. A statement sees the rows as they were when it began. While this one
 * waits for the lock of the task's row, another transaction may open an attempt. This statement would not see that
 * attempt and could not close it. But the other transaction also updates the task's row, which gives the row a new
 * version (`xmin`, one of PostgreSQL's system columns). So this statement does nothing if the row has another version
 * when it is locked than when the statement began.
 *
 * The answer may belong to an earlier attempt whose worker counted as lost. Then a later attempt of the task may be
 * open. If the process of that attempt is lost, this statement closes the attempt (`lost`). Otherwise that process
 * closes it when the call ends.
 */
const publishSql = `
  with found as materialized (
    select task_id as id, xmin as version from task where task_id = $1
  ), done as (
    update task set status = 'succeeded', answer_id = $9, asset_mime_type = $10, asset_bytes = $11,
      asset_sha256 = $12, native_response = $15, request = null, native_rejection = null,
      processing_at = coalesce(processing_at, statement_timestamp()),
      completed_at = statement_timestamp(),
      expires_at = statement_timestamp() + $13 * interval '1 second',
      purge_at = statement_timestamp() + $14 * interval '1 second'
    from found
    where task_id = found.id and task.xmin = found.version
      and status in ('queued', 'processing')
    returning expires_at, hard_end_at, family, ${endedColumns}
  ), closed as (
    ${closeAttemptSql} and exists (select from done)
    returning ${closedColumns}
  ), uploads as (
    update upload set sweep_after = case
        when upload_id = $9 then done.expires_at + ${downloadGraceSql}
        when kind = 'input' then now()
        else done.hard_end_at + ${unusedAnswerKeptSql} end
    from done where upload.task_id = $1
  ), lost as (${closeLostAttemptsSql} and n <> $2 and exists (select from done)),
  ${deliveriesSql('task.succeeded')},
  ${endHoldSql('settle')}, receivers as (${dueAfterEndSql})
  select family, model, (select to_json(closed) from closed) as closed,
    (select coalesce(json_agg(receivers), '[]') from receivers) as due
  from done`

/**
 * Returns the answer ids of those attempts of a live task that may have a stored answer, newest attempt first.
 * Returns none when the task has ended.
 */
export async function answerIdsOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ answerId: string }>({
    name: 'answers-of',
    text: `select attempt.answer_id as "answerId" from attempt
      join task using (task_id)
      where task_id = $1 and task.status in ('queued', 'processing')
        and (class is null or class in ('unknown', 'succeeded'))
      order by n desc`,
    values: [taskId],
  })
  return rows.map((row) => row.answerId)
}
