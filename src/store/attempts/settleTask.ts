import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { AttemptOutcome, AttemptStore, SettleInput } from '../../domain/ports/attemptStore.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import {
  closedColumns,
  closeLostAttemptsSql,
  evidenceColumns,
  isUnrecordedSql,
  recordOutcome,
  tellChannel,
} from './closeAttempt.ts'
import type { ClosedAttempt } from '../channels/updateChannelAfterCall.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import type { Lifetimes } from '../tasks/lifetimes.ts'
import { downloadGraceSql, unusedAnswerKeptSql } from '../tasks/lifetimes.ts'
import type { AnnounceEnd } from '../tasks/announceEnd.ts'
import { endedColumns, endHoldSql } from '../tasks/endHold.ts'
import { isLiveSql, lockTask } from '../tasks/lockTask.ts'
import { deliveriesSql } from '../webhooks/deliveriesOfEnd.ts'

type SettleTaskDeps = Lifetimes & {
  readonly pool: Pool
  readonly announceEnd: AnnounceEnd
  readonly channelsOf: (family: Family) => readonly Channel[]
}

/** An answer, and the JSON text of its native response. */
type Answer = { readonly input: SettleInput; readonly native: string }

/**
 * Creates the function that publishes a stored answer and settles the hold, if the task is still live. The function
 * returns false when the task had already ended. Then nothing is published or charged.
 *
 * It closes the attempt in both cases. The call is over, but an open attempt would keep its place on the channel until
 * its lease ends.
 *
 * Most successes do not change the channel. If the channel has a cooldown or a count of faults, a second transaction
 * updates it.
 */
export function createSettleTask(deps: SettleTaskDeps): AttemptStore['settleTask'] {
  const { pool, channelsOf } = deps
  return async (input) => {
    const answer = { input, native: JSON.stringify(input.meta.native) }
    const [published] = await runStatement<Published>(pool, publishQuery(deps, [answer]))
    const settled = published ?? (await settleLocked(deps, answer))
    if (settled === undefined) return false
    deps.announceEnd(input.meta.taskId)
    const { closed, family, model } = settled
    if (closed !== null && (closed.hasCooldown || closed.hasFaults)) {
      const task = { taskId: input.meta.taskId, family, model }
      const told = { closed, outcome: outcomeOf(input) }
      await withTransaction(pool, (client) => tellChannel(client, channelsOf, task, told))
    }
    return true
  }
}

/**
 * Publishes the answer and settles the hold under the task's lock. If the task has ended, only records the outcome of
 * the call, and makes sure that the sweep deletes the answer. Needed when the task has ended, or when another
 * transaction had locked or changed it while the first statement ran.
 */
async function settleLocked(deps: SettleTaskDeps, answer: Answer): Promise<Published | undefined> {
  const { input } = answer
  return withTransaction(deps.pool, async (client) => {
    const task = await lockTask(client, input.meta.taskId)
    if (task !== undefined && !isEnded(task.status)) {
      const { rows } = await client.query<Published>(publishQuery(deps, [answer]))
      if (rows[0] === undefined)
        throw new Error('Bug: the answer of a live, locked task was not published')
      return rows[0]
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

/** What the statement returns about a task that it has settled. */
type Published = {
  readonly answerId: string
  readonly family: Family
  readonly model: ModelId
  /** The attempt that was closed. `null` if its outcome had been recorded before. */
  readonly closed: ClosedAttempt | null
}

function publishQuery(
  { retentionSeconds, tombstoneSeconds }: Lifetimes,
  answers: readonly Answer[],
): QueryConfig {
  return {
    name: 'publish-answers',
    text: publishSql,
    values: [
      answers.map(({ input }) => input.meta.taskId),
      JSON.stringify(answers.map(columnsOf)),
      retentionSeconds,
      retentionSeconds + tombstoneSeconds,
    ],
  }
}

function columnsOf({ input, native }: Answer): unknown {
  const { meta, answerId } = input
  return {
    of_task: meta.taskId,
    n: meta.attempt,
    ...evidenceColumns(outcomeOf(input)),
    stored_as: answerId,
    mime_type: meta.image.mimeType,
    bytes: meta.image.bytes,
    sha256: meta.image.sha256,
    native,
  }
}

/**
 * Closes the attempts and ends the tasks as succeeded. Deletes the prompts and makes the inputs due for the sweep now,
 * because nothing needs them any more. The sweep deletes the stored answers later: the published one after its image
 * has expired, and any others after the hard end (both with the extra times in `lifetimes.ts`).
 *
 * This statement is a transaction of its own. A statement sees the rows as they were when it began. Meanwhile another
 * transaction may open an attempt, which this statement would not see and could not close. But the other transaction
 * also updates the task's row, which gives the row a new version (`xmin`, one of PostgreSQL's system columns). So this
 * statement leaves a task out when another transaction holds its lock, or has changed its row since the statement began.
 * All tasks belong to one account, so one balance is locked.
 *
 * The attempt and the task get the same time: the attempt that brought the image must not seem to close after the end
 * of its task.
 *
 * An answer may belong to an earlier attempt whose worker counted as lost. Then a later attempt of the task may be
 * open. If the process of that attempt is lost, this statement closes the attempt (`lost`). Otherwise that process
 * closes it when the call ends.
 */
const publishSql = `
  with answer as materialized (
    select * from json_to_recordset($2::json) as answer (
      of_task text, n integer, reason text, http_status integer, upstream_request_id text, latency_ms integer,
      stored_as text, mime_type text, bytes bigint, sha256 text, native text)
  ), found as materialized (
    select task_id as found_id, xmin as version from task where task_id = any($1)
  ), live as materialized (
    select task_id as live_id from task join found on found_id = task_id
    where task_id = any($1) and task.xmin = version and ${isLiveSql}
    for update of task skip locked
  ), done as (
    update task set status = 'succeeded', answer_id = stored_as, asset_mime_type = mime_type, asset_bytes = bytes,
      asset_sha256 = sha256, native_response = native, request = null, native_rejection = null,
      processing_at = coalesce(processing_at, statement_timestamp()),
      completed_at = statement_timestamp(),
      expires_at = statement_timestamp() + $3 * interval '1 second',
      purge_at = statement_timestamp() + $4 * interval '1 second'
    from live join answer on of_task = live_id
    where task_id = any($1) and task_id = live_id
    returning n, answer_id, expires_at, hard_end_at, family, ${endedColumns}
  ), closed as (
    update attempt set closed_at = statement_timestamp(), class = 'succeeded', reason = answer.reason,
      http_status = answer.http_status, upstream_request_id = answer.upstream_request_id,
      latency_ms = answer.latency_ms, retry_after_ms = null
    from done join answer on stored_as = done.answer_id
    where attempt.task_id = any($1) and attempt.task_id = done.task_id and attempt.n = done.n
      and ${isUnrecordedSql}
    returning attempt.task_id, ${closedColumns}
  ), uploads as (
    update upload set sweep_after = case
        when upload_id = answer_id then expires_at + ${downloadGraceSql}
        when kind = 'input' then now()
        else hard_end_at + ${unusedAnswerKeptSql} end
    from done where upload.task_id = any($1) and upload.task_id = done.task_id
  ), lost as (
    ${closeLostAttemptsSql('= any($1)')} and exists (
      select from done where done.task_id = attempt.task_id and done.n <> attempt.n)
  ),
  ${deliveriesSql('task.succeeded')},
  ${endHoldSql('settle')}
  select answer_id as "answerId", family, model,
    (select to_json(closed) from closed where closed.task_id = done.task_id) as closed
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
      where task_id = $1 and ${isLiveSql}
        and (class is null or class in ('unknown', 'succeeded'))
      order by n desc`,
    values: [taskId],
  })
  return rows.map((row) => row.answerId)
}
