import type { Pool, PoolClient } from 'pg'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { NextStep } from '../../domain/gate/taskFacts.ts'
import { takeOnce } from '../../domain/takeOnce.ts'
import type { RandomBytes } from '../../domain/ids.ts'
import { newUploadId } from '../../domain/ids.ts'
import { callCheckMs } from '../../domain/limits.ts'
import type { BeginInput, BeginResult } from '../../domain/ports/attemptStore.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import { isEnded } from '../../domain/tasks/task.ts'
import type { FastPath } from './beginFirstCall.ts'
import { lockChannelStates, saveCooldown } from '../channels/channelStates.ts'
import { joinPlaceQueue } from '../channels/placeQueue.ts'
import { closeAttemptRow } from './closeAttempt.ts'
import type { JudgeDeps } from './judgeTask.ts'
import { judgeTask } from './judgeTask.ts'
import { checkAfterWaitSql } from './overdue.ts'
import type { QueuedLooks } from './queuedLooks.ts'
import type { NextCall, Unread } from './openAttempt.ts'
import { openAttempt } from './openAttempt.ts'
import { withTransaction } from '../connection/transaction.ts'
import type { LockedAttempt, TaskWithAttempts } from '../tasks/lockTask.ts'
import { isUnderWay, lockTaskWithAttempts } from '../tasks/lockTask.ts'

export type BeginAttemptDeps = JudgeDeps & {
  readonly pool: Pool
  /** The id of the process that makes the calls. */
  readonly processId: string
  readonly randomBytes: RandomBytes
}

/** What may answer a question before the full gate. */
type QuickAnswers = FastPath & QueuedLooks

/**
 * The gate: decides in one transaction whether a task may call upstream now, and opens the attempt if so. Every call
 * passes the gate, even a call by a worker that Temporal has given up. A call begins only while the task is live,
 * before its deadline and within its limits, on a channel with a free place.
 *
 * A worker's first question about a task goes to the fast path first (`beginFirstCall`). If the fast path opens no
 * attempt, an offered task may end by a look without locks (`queuedLooks.ts`). Such a look also answers a task that asks
 * again while it waits in line for a place. A condition for first calls must be
 * both in the full gate and in the fast path: `test/store/gateAgrees.test.ts` compares the two.
 */
export async function beginAttempt(
  deps: BeginAttemptDeps & QuickAnswers,
  input: BeginInput,
): Promise<BeginResult> {
  const answerId = input.answerId ?? newUploadId(deps.randomBytes, 'answer')
  const quick = await answerQuickly(deps, input, answerId)
  return quick ?? beginInTransaction(deps, { ...input, answerId })
}

/** Answers without the full gate, or returns `undefined` when only the full gate can answer. */
async function answerQuickly(
  deps: BeginAttemptDeps & QuickAnswers,
  input: BeginInput,
  answerId: string,
): Promise<BeginResult | undefined> {
  const { question = 'first', taskId, via } = input
  switch (question) {
    case 'first': {
      const attempt = await deps.beginFirstCall({ ...input, answerId })
      if (attempt !== undefined) return { kind: 'opened', attempt }
      const end = via === 'offer' ? await deps.endOfFirstCall(taskId) : undefined
      return end && { kind: 'end', ...end }
    }
    case 'in_line':
      return deps.waitInLine(taskId)
    case 'further':
      return undefined
    default:
      return assertNever(question)
  }
}

/** The gate without its fast path. */
export async function beginInTransaction(
  deps: BeginAttemptDeps,
  input: BeginInput,
): Promise<BeginResult> {
  const decided = await lockAndDecide(deps, input)
  if (decided.kind !== 'opened') return decided
  const takeRequest = takeOnce(await readRequest(deps.pool, input.taskId))
  return { kind: 'opened', attempt: { ...decided.attempt, takeRequest } }
}

/**
 * Reads the request of a live task. This is done after the gate has released its locks, because the request may have
 * many megabytes.
 */
async function readRequest(pool: Pool, taskId: string): Promise<ImageRequest> {
  const { rows } = await pool.query<{ request: string | null }>({
    name: 'read-request',
    text: 'select request from task where task_id = $1',
    values: [taskId],
  })
  const text = rows[0]?.request ?? undefined
  if (text === undefined) throw new Error(`Bug: ${taskId} is live without its request`)
  const request: ImageRequest = JSON.parse(text)
  return request
}

type Decided =
  | Exclude<BeginResult, { readonly kind: 'opened' }>
  | { readonly kind: 'opened'; readonly attempt: Unread }

async function lockAndDecide(deps: BeginAttemptDeps, input: BeginInput): Promise<Decided> {
  return withTransaction<Decided>(deps.pool, async (client) => {
    const task = await lockTaskWithAttempts(client, input.taskId)
    if (task === undefined || isEnded(task.status)) return { kind: 'over' }
    const open = task.attempts.find((each) => each.closedAtMs === null)
    const answerId = input.answerId ?? newUploadId(deps.randomBytes, 'answer')
    const next = {
      answerId,
      via: input.via ?? 'workflow',
      ...defined({ requestBytesMax: input.requestBytesMax }),
    }
    if (open === undefined) return decide(deps, client, task, next)
    if (open.n !== input.checked) {
      return { kind: 'unchecked', n: open.n, answerId: open.answerId }
    }
    if (isUnderWay(task, open)) {
      const { channel } = open
      return { kind: 'wait', delayMs: callCheckMs, reason: 'call_under_way', channel }
    }
    return decide(deps, client, await closeAsLost(client, task, open), next)
  })
}

/**
 * Closes an open attempt whose process is lost or whose task is past its hard end. Returns the task with this change.
 */
async function closeAsLost(
  client: PoolClient,
  task: TaskWithAttempts,
  { n }: LockedAttempt,
): Promise<TaskWithAttempts> {
  const evidence = { reason: 'worker_lost' } as const
  await closeAttemptRow(client, task.taskId, { n, class: 'unknown', evidence })
  const lost = { closedAtMs: task.nowMs, class: 'unknown', reason: evidence.reason }
  const attempts = task.attempts.map((each) => (each.n === n ? { ...each, ...lost } : each))
  return { ...task, attempts }
}

/** Decides the next step of a task that has no open attempt, and writes what this step needs. */
async function decide(
  deps: BeginAttemptDeps,
  client: PoolClient,
  locked: TaskWithAttempts,
  next: NextCall,
): Promise<Decided> {
  const judge = judgeTask(deps, locked)
  const askedAtMs = performance.now()
  const states = await lockChannelStates(client, judge.channels, judge.model, judge.request)
  // The wait for the lock of a busy channel can take long. The time of this wait is added to the clock, so that a
  // deadline that has passed meanwhile is noticed.
  const task = { ...locked, nowMs: locked.nowMs + performance.now() - askedAtMs }
  const step = judge.stepBy(task.nowMs, states)
  switch (step.kind) {
    case 'end':
      return { ...step, accountId: task.accountId }
    case 'wait':
      return postpone(client, task, step)
    case 'call':
      if (task.requestBytes > (next.requestBytesMax ?? Infinity)) {
        return { kind: 'needs_room', accountId: task.accountId, bytes: task.requestBytes }
      }
      return {
        kind: 'opened',
        attempt: await openAttempt(client, task, step, { ...next, processId: deps.processId }),
      }
    default:
      return assertNever(step)
  }
}

/**
 * Records that the task waits, and schedules the check that finds the task if no worker asks the gate for it again in
 * time.
 */
async function postpone(
  client: PoolClient,
  task: TaskWithAttempts,
  step: Extract<NextStep, { kind: 'wait' }>,
): Promise<BeginResult> {
  const { delayMs, reason, channel, cooldown, inLine } = step
  if (channel !== undefined && cooldown !== undefined) {
    await saveCooldown(client, { channel, model: task.model }, cooldown)
  }
  if (inLine !== undefined) await joinPlaceQueue(client, task, inLine, delayMs)
  await client.query({
    name: 'postpone-task',
    text: postponeSql,
    values: [task.taskId, delayMs],
  })
  return { kind: 'wait', delayMs, reason, ...defined({ channel }) }
}

const postponeSql = `update task set checks = 0, next_check_at = ${checkAfterWaitSql('$2::float8')}
  where task_id = $1`
