import { isEnded } from '../../domain/task.ts'
import type { Pool, PoolClient } from 'pg'
import type { Channel } from '../../domain/channel.ts'
import { defined } from '../../domain/defined.ts'
import { nextStep } from '../../domain/gate/nextStep.ts'
import type { NextStep } from '../../domain/gate/taskFacts.ts'
import { lastUnknown } from '../../domain/gate/taskFacts.ts'
import type { RandomBytes } from '../../domain/ids.ts'
import { newUploadId } from '../../domain/ids.ts'
import type { ImageRequest } from '../../domain/imageRequest.ts'
import { isSyncRoute } from '../../domain/imageRequest.ts'
import type { Family } from '../../domain/models.ts'
import type { BeginResult, OpenedAttempt } from '../../domain/ports/attemptStore.ts'
import { outcomeClasses, outcomeReasons } from '../../domain/upstreamCall.ts'
import { lockChannelStates, saveCooldown } from '../channels/channelStates.ts'
import { standInLine } from '../channels/placeLine.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { LockedAttempt, TaskWithAttempts } from '../tasks/lockTask.ts'
import { lockTaskWithAttempts } from '../tasks/lockTask.ts'
import { beginFirstCall, overdueMs } from './beginFirstCall.ts'
import { closeOpenAttempt } from './closeAttempt.ts'
import { doubtCall } from './presence.ts'

export type BeginAttemptDeps = {
  readonly pool: Pool
  readonly randomBytes: RandomBytes
  /** In [0, 1). */
  readonly random: () => number
  readonly channelsOf: (family: Family) => readonly Channel[]
  readonly callsMax: number
}

/**
 * The gate (design 1.6), one transaction: no call starts unless the task is live, before its deadline and
 * within its bounds, whoever asks and from whatever zombie. What is asked here of a first call stands in
 * `begin_first_call` as well (migrations), which a new condition must reach, too. `checked` names an open attempt whose answer
 * the caller looked for and did not find: while its worker is heard of it is waited for, after that it is
 * closed as unknown.
 */
export function createBeginAttempt(deps: BeginAttemptDeps) {
  return async (input: { taskId: string; checked?: number }): Promise<BeginResult> => {
    const attempt = await beginFirstCall(deps, input.taskId)
    if (attempt !== undefined) return { kind: 'opened', attempt }
    return withTransaction(deps.pool, async (client) => {
      const task = await lockTaskWithAttempts(client, input.taskId)
      if (task === undefined || isEnded(task.status)) {
        return { kind: 'over' }
      }
      const open = task.attempts.find((attempt) => attempt.closedAtMs === null)
      if (open !== undefined && open.n !== input.checked) {
        return { kind: 'unchecked', n: open.n, answerId: open.answerId }
      }
      const delayMs = open === undefined ? 0 : await doubtCall(client, task, open)
      if (open !== undefined && delayMs > 0) {
        return { kind: 'wait', delayMs, reason: 'call_under_way', channel: open.channel }
      }
      const attempts = open === undefined ? task.attempts : closedAsLost(task, open)
      if (open !== undefined) {
        await closeOpenAttempt(client, task.taskId, open.n, 'unknown', { reason: 'worker_lost' })
      }
      return decide(deps, client, { ...task, attempts })
    })
  }
}

async function decide(
  deps: BeginAttemptDeps,
  client: PoolClient,
  locked: TaskWithAttempts,
): Promise<BeginResult> {
  const { taskId, accountId, family, model } = locked
  const sync = isSyncRoute(locked.route)
  const asking = { taskId, accountId, sync }
  const askedAtMs = performance.now()
  const channels = await lockChannelStates(client, deps.channelsOf(family), model, asking)
  // Many wait for a busy channel's row: the task's clock goes on by as long, lest a deadline is missed.
  const task = { ...locked, nowMs: locked.nowMs + performance.now() - askedAtMs }
  const step = nextStep({
    nowMs: task.nowMs,
    ageMs: task.nowMs - task.createdAtMs,
    deadlineAtMs: task.deadlineAtMs,
    sync,
    past: task.attempts.map(pastAttempt),
    channels,
    callsMax: deps.callsMax,
    jitter: deps.random(),
  })
  switch (step.kind) {
    case 'end':
      return step
    case 'wait':
      return postpone(client, task, step)
    case 'call':
      return { kind: 'opened', attempt: await openAttempt(deps, client, task, step) }
    default:
      return step satisfies never
  }
}

async function postpone(
  client: PoolClient,
  task: TaskWithAttempts,
  step: Extract<NextStep, { kind: 'wait' }>,
): Promise<BeginResult> {
  const { delayMs, reason, channel, cooldown, inLine } = step
  if (channel !== undefined && cooldown !== undefined) {
    await saveCooldown(client, { channel, model: task.model }, cooldown)
  }
  if (inLine !== undefined) await standInLine(client, task, inLine, delayMs)
  await client.query({
    name: 'postpone-task',
    text: `update task set checks = 0, next_check_at = least(deadline_at,
        now() + $2 * interval '1 millisecond')
      where task_id = $1`,
    values: [task.taskId, delayMs + overdueMs],
  })
  return { kind: 'wait', delayMs, reason, ...defined({ channel }) }
}

async function openAttempt(
  deps: BeginAttemptDeps,
  client: PoolClient,
  task: TaskWithAttempts,
  step: Extract<NextStep, { kind: 'call' }>,
): Promise<OpenedAttempt> {
  if (task.request === null) throw new Error(`Bug: ${task.taskId} is live without its request`)
  const { channel, cooldown } = step
  const n = (task.attempts.at(-1)?.n ?? 0) + 1
  const upstreamKey = lastUnknown(task.attempts)?.upstreamKey ?? `${task.taskId}-${n}`
  const answerId = newUploadId(deps.randomBytes, 'answer')
  const hardEndMs = task.hardEndAtMs - task.nowMs
  const timeoutMs = Math.min(channel.timeoutMs, hardEndMs)
  const leaseMs = timeoutMs + overdueMs
  if (cooldown !== undefined) {
    await saveCooldown(client, { channel: channel.name, model: task.model }, cooldown)
  }
  await client.query({
    name: 'open-attempt',
    text: openSql,
    values: [task.taskId, n, channel.name, task.model, answerId, upstreamKey, leaseMs],
  })
  const request: ImageRequest = JSON.parse(task.request)
  return { n, channel, answerId, upstreamKey, timeoutMs, hardEndMs, request }
}

function closedAsLost(task: TaskWithAttempts, open: LockedAttempt): readonly LockedAttempt[] {
  const lost = { ...open, closedAtMs: task.nowMs, class: 'unknown', reason: 'worker_lost' }
  return task.attempts.map((attempt) => (attempt.n === open.n ? lost : attempt))
}

function pastAttempt(attempt: LockedAttempt) {
  const found = outcomeClasses.find((name) => name === attempt.class)
  const reason = outcomeReasons.find((name) => name === attempt.reason)
  if (found === undefined || reason === undefined || attempt.closedAtMs === null) {
    throw new Error(`Bug: attempt ${attempt.n} is not closed with a known class and reason`)
  }
  return {
    channel: attempt.channel,
    class: found,
    reason,
    closedAtMs: attempt.closedAtMs,
    ...defined({ retryAfterMs: attempt.retryAfterMs }),
  }
}

const openSql = `
  with opened as (
    insert into attempt (task_id, n, channel, model, answer_id, upstream_key, lease_until, seen_at)
    values ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7 * interval '1 millisecond',
      clock_timestamp())
  ), place as (
    insert into upload (upload_id, kind, task_id, sweep_after) values ($5, 'answer', $1, 'infinity')
  ), line as (
    delete from place_line where task_id = $1
  )
  update task set status = 'processing', processing_at = coalesce(processing_at, clock_timestamp()),
    checks = 0,
    next_check_at = least(hard_end_at, clock_timestamp() + $7 * interval '1 millisecond')
  where task_id = $1`
