import type { PoolClient } from 'pg'
import type { NextStep } from '../../domain/gate/taskFacts.ts'
import { lastUnknown } from '../../domain/gate/taskFacts.ts'
import type { OpenedAttempt, Via } from '../../domain/ports/attemptStore.ts'
import { overdueAfterMs } from './overdue.ts'
import { saveCooldown } from '../channels/channelStates.ts'
import type { TaskWithAttempts } from '../tasks/lockTask.ts'

/** What the worker has chosen for its next call before it asks the gate. */
export type NextCall = {
  readonly answerId: string
  readonly via: Via
  readonly requestBytesMax?: number
}

/** An opened attempt whose request is not read yet. */
export type Unread = Omit<OpenedAttempt, 'takeRequest'>

/**
 * Opens the next attempt of a locked task on a locked channel. Also saves the changed cooldown, takes the task out of
 * the place queue and sets it to `processing`.
 */
export async function openAttempt(
  client: PoolClient,
  task: TaskWithAttempts,
  step: Extract<NextStep, { kind: 'call' }>,
  { answerId, via, processId }: NextCall & { readonly processId: string },
): Promise<Unread> {
  const { channel, cooldown } = step
  const n = (task.attempts.at(-1)?.n ?? 0) + 1
  const upstreamKey = lastUnknown(task.attempts)?.upstreamKey ?? `${task.taskId}-${n}`
  const hardEndMs = task.hardEndAtMs - task.nowMs
  const timeoutMs = Math.min(channel.timeoutMs, hardEndMs)
  const leaseMs = timeoutMs + overdueAfterMs
  if (cooldown !== undefined) {
    await saveCooldown(client, { channel: channel.name, model: task.model }, cooldown)
  }
  await client.query({
    name: 'open-attempt',
    text: openSql,
    values: [
      task.taskId,
      n,
      channel.name,
      task.model,
      answerId,
      upstreamKey,
      leaseMs,
      processId,
      via,
    ],
  })
  const { accountId, model } = task
  return { n, channel, answerId, upstreamKey, timeoutMs, hardEndMs, accountId, model }
}

const openSql = `
  with opened as (
    insert into attempt (task_id, n, channel, model, answer_id, upstream_key, lease_until,
      process_id, via)
    values ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 millisecond', $8, $9)
  ), answer as (
    insert into upload (upload_id, kind, task_id, sweep_after) values ($5, 'answer', $1, 'infinity')
  ), queue as (
    delete from place_queue where task_id = $1
  )
  update task set status = 'processing', processing_at = coalesce(processing_at, clock_timestamp()),
    checks = 0,
    next_check_at = least(hard_end_at, clock_timestamp() + $7 * interval '1 millisecond')
  where task_id = $1`
