import type { Pool, PoolClient } from 'pg'
import type { Family } from '../../domain/models/models.ts'
import type { SettleInput } from '../../domain/ports/attemptStore.ts'
import type { DueWebhook } from '../../domain/ports/webhookStore.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import { closeLostAttemptsSql, recordOutcome } from './closeAttempt.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { AnnounceEnd, Lifetimes } from '../tasks/endTask.ts'
import { endedColumns, endHoldSql } from '../tasks/endTask.ts'
import type { LockedTask } from '../tasks/lockTask.ts'
import { lockTask } from '../tasks/lockTask.ts'
import { deliveriesSql, dueAfterEndSql } from '../webhooks/deliveriesOfEnd.ts'

type SettleTaskDeps = Lifetimes & {
  readonly pool: Pool
  readonly announceEnd: AnnounceEnd
  readonly channelsOf: (family: Family) => readonly Channel[]
}

/**
 * Publishes a stored answer and settles the hold, if the task is still live. Returns false when the task had
 * already ended. Then nothing is published or charged. The attempt is closed in both cases. Otherwise it
 * would take a place on its channel until its lease ends, although its call is over.
 */
export async function settleTask(deps: SettleTaskDeps, input: SettleInput): Promise<boolean> {
  const { taskId, attempt } = input.meta
  let due: readonly DueWebhook[] = []
  const settled = await withTransaction(deps.pool, async (client) => {
    const task = await lockTask(client, taskId)
    if (task === undefined) {
      await sweepLateAnswer(client, input)
      return false
    }
    const evidence = input.evidence ?? { reason: 'image' }
    const outcome = { n: attempt, class: 'succeeded', evidence } as const
    await recordOutcome(client, deps.channelsOf, task, outcome)
    if (isEnded(task.status)) {
      await sweepLateAnswer(client, input)
      return false
    }
    due = await publish(client, deps, task, input)
    return true
  })
  if (settled) deps.announceEnd(taskId, due)
  return settled
}

/**
 * A worker that was stopped past the hard end may store its answer after the sweep has deleted the upload,
 * or while it does. Without a row nothing would ever delete those bytes, so the upload becomes due (again).
 * An upload that still waits for its sweep is left as it is.
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

async function publish(
  client: PoolClient,
  { retentionSeconds, tombstoneSeconds }: Lifetimes,
  task: LockedTask,
  { meta, answerId }: SettleInput,
): Promise<readonly DueWebhook[]> {
  const { rows } = await client.query<DueWebhook>({
    name: 'publish-answer',
    text: publishSql,
    values: [
      meta.taskId,
      answerId,
      meta.image.mimeType,
      meta.image.bytes,
      meta.image.sha256,
      retentionSeconds,
      retentionSeconds + tombstoneSeconds,
      JSON.stringify(meta.native),
    ],
  })
  return rows
}

/**
 * Ends the task as succeeded. The prompt is deleted and the inputs become due for the sweep at once, because
 * nothing needs them any more. If several answers are stored, only the published one is kept. The sweep
 * deletes the others an hour after the hard end, when no call can still write to them.
 *
 * Another attempt of the task may still be open: the answer may belong to an earlier attempt that counted as
 * lost. The worker of the open attempt closes it. This statement closes it only if that worker is lost.
 *
 * The bytes of the published answer are deleted a quarter of an hour after the record reads `expired`, so
 * that a download that began earlier is not cut off.
 *
 * The task's times are those of this statement, which began after the locks were taken. So a wait for a lock
 * does not shorten the retention.
 */
const publishSql = `
  with done as (
    update task set status = 'succeeded', answer_id = $2, asset_mime_type = $3, asset_bytes = $4,
      asset_sha256 = $5, native_response = $8, request = null, native_rejection = null,
      processing_at = coalesce(processing_at, statement_timestamp()),
      completed_at = statement_timestamp(),
      expires_at = statement_timestamp() + $6 * interval '1 second',
      purge_at = statement_timestamp() + $7 * interval '1 second'
    where task_id = $1
    returning expires_at, hard_end_at, ${endedColumns}
  ), uploads as (
    update upload set sweep_after = case
        when upload_id = $2 then done.expires_at + interval '15 minutes'
        when kind = 'input' then now()
        else done.hard_end_at + interval '1 hour' end
    from done where upload.task_id = $1
  ), lost as (${closeLostAttemptsSql}),
  ${deliveriesSql('task.succeeded')},
  ${endHoldSql('settle')}
  ${dueAfterEndSql}`

/**
 * Returns the answer ids of those attempts of a live task that may have a stored answer, newest attempt
 * first. Returns none when the task has ended.
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
