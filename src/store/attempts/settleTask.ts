import { isEnded } from '../../domain/task.ts'
import type { Pool, PoolClient } from 'pg'
import type { Channel } from '../../domain/channel.ts'
import type { Family } from '../../domain/models.ts'
import type { AnswerMeta } from '../../domain/storedAnswer.ts'
import type { OutcomeEvidence } from '../../domain/upstreamCall.ts'
import { withTransaction } from '../connection/transaction.ts'
import { endHoldSql } from '../tasks/endTask.ts'
import type { LockedTask } from '../tasks/lockTask.ts'
import { lockTask } from '../tasks/lockTask.ts'
import { closeLostSql, concludeAttempt } from './closeAttempt.ts'

type SettleTaskDeps = {
  readonly pool: Pool
  readonly channelsOf: (family: Family) => readonly Channel[]
  readonly retentionSeconds: number
  readonly tombstoneSeconds: number
}

/**
 * Publishes a stored answer and charges for it, once (design 1.9, 1.11): compare-and-set on a live task.
 * False: it had ended otherwise; nothing is published, nothing charged, but its attempt is closed: the
 * call is over, and must not count against the channel until its lease ends.
 */
export function createSettleTask(deps: SettleTaskDeps) {
  return async (input: {
    meta: AnswerMeta
    answerId: string
    evidence?: OutcomeEvidence
  }): Promise<boolean> =>
    withTransaction(deps.pool, async (client) => {
      const { meta, answerId } = input
      const task = await lockTask(client, meta.taskId)
      if (task === undefined) return false
      const evidence = input.evidence ?? { reason: 'image' }
      const met = { n: meta.attempt, class: 'succeeded', evidence } as const
      await concludeAttempt(client, deps.channelsOf, task, met)
      if (isEnded(task.status)) return false
      await publish(client, deps, task, { meta, answerId })
      return true
    })
}

async function publish(
  client: PoolClient,
  deps: SettleTaskDeps,
  task: LockedTask,
  { meta, answerId }: { readonly meta: AnswerMeta; readonly answerId: string },
): Promise<void> {
  await client.query({
    name: 'publish-answer',
    text: publishSql,
    values: [
      meta.taskId,
      answerId,
      meta.image.mimeType,
      meta.image.bytes,
      meta.image.sha256,
      deps.retentionSeconds,
      deps.retentionSeconds + deps.tombstoneSeconds,
      task.accountId,
      task.credits,
      JSON.stringify(meta.native),
    ],
  })
}

/**
 * Inputs and prompt are needed no more; of several stored answers only the published one is kept. An
 * attempt that is still open (a later one, when a lost one's answer turned up) is closed by its worker,
 * or here if that one is lost as well. One moment for all of it, after the locks were had: the statement's.
 */
const publishSql = `
  with done as (
    update task set status = 'succeeded', answer_id = $2, asset_mime_type = $3, asset_bytes = $4,
      asset_sha256 = $5, native_response = $10, request = null, native_refusal = null,
      processing_at = coalesce(processing_at, statement_timestamp()),
      completed_at = statement_timestamp(),
      expires_at = statement_timestamp() + $6 * interval '1 second',
      purge_at = statement_timestamp() + $7 * interval '1 second'
    where task_id = $1
    returning expires_at, hard_end_at
  ), uploads as (
    update upload set sweep_after = case
        when upload_id = $2 then done.expires_at
        when kind = 'input' then now()
        else done.hard_end_at + interval '1 hour' end
    from done where upload.task_id = $1
  ), lost as (${closeLostSql}),
  ${endHoldSql('settle', { task: '$1', account: '$8', credits: '$9' })}
  select pg_notify('task_end', $1)`

/** Answer ids of a live task's attempts that may have stored one, newest first. */
export function createAnswersOf(deps: { readonly pool: Pool }) {
  return async (taskId: string): Promise<readonly string[]> => {
    const { rows } = await deps.pool.query<{ answerId: string }>({
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
}
