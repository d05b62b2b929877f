import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { AttemptOutcome, AttemptStore, SettleInput } from '../../domain/ports/attemptStore.ts'
import type { DueWebhook } from '../../domain/ports/webhookStore.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { OutcomeEvidence } from '../../domain/upstream/upstreamCall.ts'
import {
  closedColumns,
  closeLostAttemptsSql,
  isUnrecordedSql,
  recordOutcome,
  tellChannel,
} from './closeAttempt.ts'
import type { ClosedAttempt } from '../channels/updateChannelAfterCall.ts'
import { apartWhenRefused, joinWrites } from '../connection/joinWrites.ts'
import { runStatement, withTransaction } from '../connection/transaction.ts'
import type { Lifetimes } from '../tasks/lifetimes.ts'
import { downloadGraceSql, unusedAnswerKeptSql } from '../tasks/lifetimes.ts'
import type { AnnounceEnd } from '../tasks/announceEnd.ts'
import { endedColumns, endHoldSql } from '../tasks/endHold.ts'
import { lockTask } from '../tasks/lockTask.ts'
import { deliveriesSql, dueOfDoneSql } from '../webhooks/deliveriesOfEnd.ts'

type SettleTaskDeps = Lifetimes & {
  readonly pool: Pool
  readonly announceEnd: AnnounceEnd
  readonly channelsOf: (family: Family) => readonly Channel[]
}

/**
 * Creates the function that publishes a stored answer and settles the hold, if the task is still live. The function
 * returns false when the task had already ended. Then nothing is published or charged.
 *
 * It closes the attempt in both cases. The call is over, but an open attempt would keep its place on the channel until
 * its lease ends.
 *
 * Answers of one account that come while a statement for this account is under way share the next one, because all of
 * them need the lock of its balance.
 *
 * Most successes do not change the channel. If the channel has a cooldown or a count of faults, a second transaction
 * updates it.
 */
export function createSettleTask(deps: SettleTaskDeps): AttemptStore['settleTask'] {
  const { pool, channelsOf } = deps
  const publishJoined = joinWrites<SettleInput, Published | undefined>(
    ({ accountId, answerId }) => accountId ?? answerId,
    apartWhenRefused(async (inputs) => {
      const rows = await runStatement<Published>(pool, publishQuery(deps, inputs))
      const published = new Map(rows.map((row) => [row.answerId, row]))
      return inputs.map(({ answerId }) => takeFrom(published, answerId))
    }),
  )
  return async (input) => {
    const settled = (await publishJoined(input)) ?? (await settleLocked(deps, input))
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
}

/** Each result belongs to one input, even if the same answer is settled twice at once. */
function takeFrom<Value>(values: Map<string, Value>, key: string): Value | undefined {
  const value = values.get(key)
  values.delete(key)
  return value
}

/**
 * Publishes the answer and settles the hold under the task's lock. If the task has ended, only records the outcome of
 * the call, and makes sure that the sweep deletes the answer. Needed when the task has ended, or when another
 * transaction changed it while the first statement ran.
 */
async function settleLocked(
  deps: SettleTaskDeps,
  input: SettleInput,
): Promise<Published | undefined> {
  return withTransaction(deps.pool, async (client) => {
    const task = await lockTask(client, input.meta.taskId)
    if (task !== undefined && !isEnded(task.status)) {
      return (await client.query<Published>(publishQuery(deps, [input]))).rows[0]
    }
    if (task !== undefined) await recordOutcome(client, deps.channelsOf, task, outcomeOf(input))
    await sweepLateAnswer(client, input)
    return undefined
  })
}

/** Of a call that another process made. */
const imageEvidence: OutcomeEvidence = { reason: 'image' }

function outcomeOf({ meta, evidence = imageEvidence }: SettleInput): AttemptOutcome {
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
  readonly due: readonly DueWebhook[]
}

function publishQuery(
  { retentionSeconds, tombstoneSeconds }: Lifetimes,
  inputs: readonly SettleInput[],
): QueryConfig {
  return {
    name: 'publish-answers',
    text: publishSql,
    values: [
      inputs.map(({ meta }) => meta.taskId),
      JSON.stringify(inputs.map(answerOf)),
      retentionSeconds,
      retentionSeconds + tombstoneSeconds,
    ],
  }
}

function answerOf({ meta, answerId, evidence = imageEvidence }: SettleInput): unknown {
  const { httpStatus, upstreamRequestId, latencyMs } = evidence
  return {
    of_task: meta.taskId,
    n: meta.attempt,
    because: evidence.reason,
    status_code: httpStatus,
    request_id: upstreamRequestId,
    took_ms: latencyMs === undefined ? undefined : Math.round(latencyMs),
    stored_as: answerId,
    mime_type: meta.image.mimeType,
    bytes: meta.image.bytes,
    sha256: meta.image.sha256,
    native: JSON.stringify(meta.native),
  }
}

/**
 * Closes the attempts and ends the tasks as succeeded. Deletes the prompts and makes the inputs due for the sweep now,
 * because nothing needs them any more. The sweep deletes the stored answers later: the published one after its image
 * has expired, and any others after the hard end (both with the extra times in `lifetimes.ts`).
 *
 * This statement is a transaction of its own. A statement sees the rows as they were when it began. While this one
 * waits for the lock of a task's row, another transaction may open an attempt. This statement would not see that
 * attempt and could not close it. But the other transaction also updates the task's row, which gives the row a new
 * version (`xmin`, one of PostgreSQL's system columns). So this statement leaves a task out if its row has another
 * version when it is locked than when the statement began. The tasks are locked in the order of their ids
 * (`checkSchedule.ts`). All of them belong to one account, so one balance is locked.
 *
 * An answer may belong to an earlier attempt whose worker counted as lost. Then a later attempt of the task may be
 * open. If the process of that attempt is lost, this statement closes the attempt (`lost`). Otherwise that process
 * closes it when the call ends.
 */
const publishSql = `
  with answer as materialized (
    select * from json_to_recordset($2::json) as answer (
      of_task text, n integer, because text, status_code integer, request_id text, took_ms integer,
      stored_as text, mime_type text, bytes bigint, sha256 text, native text)
  ), found as materialized (
    select task_id as found_id, xmin as version from task where task_id = any($1)
  ), live as materialized (
    select task_id as live_id from task join found on found_id = task_id
    where task_id = any($1) and task.xmin = version and status in ('queued', 'processing')
    order by task_id for update of task
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
    update attempt set closed_at = statement_timestamp(), class = 'succeeded', reason = because,
      http_status = status_code, upstream_request_id = request_id, latency_ms = took_ms, retry_after_ms = null
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
  select answer_id as "answerId", family, model, ${dueOfDoneSql} as due,
    (select json_build_object('channel', channel, 'openedAtMs', "openedAtMs", 'hasCooldown', "hasCooldown",
      'hasFaults', "hasFaults") from closed where closed.task_id = done.task_id) as closed
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
