import type { Pool, PoolClient } from 'pg'
import type { AnswerMeta } from '../domain/answerMeta.ts'
import type { Channel } from '../domain/channel.ts'
import type { Family } from '../domain/models.ts'
import type { OutcomeEvidence } from '../domain/upstreamOutcome.ts'
import { closeOpenAttempt } from './closeOpenAttempt.ts'
import { endHold } from './endHold.ts'
import { lockTask } from './lockTask.ts'
import { noteOutcome } from './noteOutcome.ts'
import { withTransaction } from './transaction.ts'

export type SettleTaskDeps = {
  readonly pool: Pool
  readonly channelsOf: (family: Family) => readonly Channel[]
  readonly retentionSeconds: number
  readonly tombstoneSeconds: number
}

/**
 * Publishes a stored answer and charges for it, once (design 1.9, 1.11): compare-and-set on a live task.
 * False: it had ended otherwise; nothing is published, nothing charged.
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
      if (task === undefined || task.status === 'succeeded' || task.status === 'failed')
        return false
      const evidence = input.evidence ?? { reason: 'image' }
      const { taskId } = task
      const closed = await closeOpenAttempt(client, taskId, meta.attempt, 'succeeded', evidence)
      await publish(client, deps, meta, answerId)
      const channel = deps.channelsOf(task.family).find(({ name }) => name === closed?.channel)
      if (closed !== undefined && channel !== undefined) {
        const { openedAtMs } = closed
        const { model } = task
        await noteOutcome(client, {
          taskId,
          model,
          channel,
          openedAtMs,
          class: 'succeeded',
          evidence,
        })
      }
      await endHold(client, task, 'settle')
      return true
    })
}

async function publish(
  client: PoolClient,
  deps: SettleTaskDeps,
  meta: AnswerMeta,
  answerId: string,
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
    ],
  })
}

/**
 * Inputs and prompt are needed no more; of several stored answers only the published one is kept. An
 * attempt that is still open (a later one, when a lost one's answer turned up) is left to its lease.
 */
const publishSql = `
  with done as (
    update task set status = 'succeeded', answer_id = $2, asset_mime_type = $3, asset_bytes = $4,
      asset_sha256 = $5, request = null, native_refusal = null,
      processing_at = coalesce(processing_at, clock_timestamp()),
      completed_at = clock_timestamp(),
      expires_at = clock_timestamp() + $6 * interval '1 second',
      purge_at = clock_timestamp() + $7 * interval '1 second'
    where task_id = $1
    returning expires_at, hard_end_at
  ), uploads as (
    update upload set sweep_after = case
        when upload_id = $2 then done.expires_at
        when kind = 'input' then now()
        else done.hard_end_at + interval '1 hour' end
    from done where upload.task_id = $1
  )
  select pg_notify('task_end', $1)`
