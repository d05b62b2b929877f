import type { WorkflowExecutionDescription } from '@temporalio/client'
import { defaultPayloadConverter } from '@temporalio/common'
import type { Temporal } from './connect.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { LiveStatus } from '../domain/tasks/task.ts'

type DescribeTask = (taskId: string) => Promise<LiveStatus | undefined>

/** A lookup of a task must not wait for a slow Temporal, and many lookups must not overload Temporal. */
const limits = { timeoutMs: 250, parallel: 32, cachedMs: 1_000, cachedMax: 2_000 } as const

type Answer = { readonly live: Promise<LiveStatus | undefined>; readonly validUntilMs: number }

/**
 * Returns a function that reads from Temporal what a task in flight is doing. It returns `undefined` when
 * Temporal has nothing to add or does not answer in time. Each task is asked about at most once a
 * second: later callers get the same answer. `nowMs` is a monotonic clock.
 */
export function createDescribeTask(deps: {
  readonly temporal: Temporal
  readonly nowMs: () => number
}): DescribeTask {
  const answers = new Map<string, Answer>()
  let underWay = 0

  async function ask(taskId: string): Promise<LiveStatus | undefined> {
    underWay += 1
    try {
      const { client, withDeadline } = deps.temporal
      const handle = client.workflow.getHandle(workflowIdOf(taskId))
      const { raw } = await withDeadline(limits.timeoutMs, () => handle.describe())
      return liveStatus(raw.pendingActivities)
    } catch {
      // Temporal is unreachable or slow, or has no such workflow: the task's row is the whole answer.
      return undefined
    } finally {
      underWay -= 1
    }
  }

  return (taskId) => {
    const nowMs = deps.nowMs()
    const cached = answers.get(taskId)
    if (cached !== undefined && nowMs < cached.validUntilMs) return cached.live
    if (underWay >= limits.parallel) return Promise.resolve(undefined)
    const live = ask(taskId)
    // Deleted first, because setting an existing key of a map keeps its old place in the order.
    answers.delete(taskId)
    answers.set(taskId, { live, validUntilMs: nowMs + limits.cachedMs })
    dropOldest(answers)
    return live
  }
}

/** A map keeps insertion order, so its first keys are the oldest answers. */
function dropOldest(answers: Map<string, Answer>): void {
  for (const taskId of answers.keys()) {
    if (answers.size <= limits.cachedMax) return
    answers.delete(taskId)
  }
}

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]

/** `PENDING_ACTIVITY_STATE_SCHEDULED` and `…_STARTED` of Temporal's API. */
const scheduledState = 1
const startedState = 2

/**
 * What a pending `produceImage` activity shows beyond the task's row: a wait between two attempts, or the
 * stage in its last heartbeat. `undefined` for a first attempt that waits for a slot: the task is queued.
 */
function liveStatus(
  pendingActivities: readonly PendingActivity[] | null | undefined,
): LiveStatus | undefined {
  const activity = pendingActivities?.find(({ activityType }) => {
    return activityType?.name === 'produceImage'
  })
  if (activity === undefined) return undefined
  const state = Number(activity.state)
  if (state === startedState) return { stage: stageOf(activity) }
  if (state !== scheduledState || (activity.attempt ?? 1) <= 1) return undefined
  const untilMs = milliseconds(activity.nextAttemptScheduleTime)
  return untilMs === undefined ? { stage: 'waiting' } : { stage: 'waiting', untilMs }
}

/** Heartbeats are seconds apart. Before the first heartbeat the upstream call has just begun. */
function stageOf(activity: PendingActivity): 'calling' | 'storing' {
  const payload = activity.heartbeatDetails?.payloads?.[0]
  if (payload === undefined) return 'calling'
  const detail: unknown = defaultPayloadConverter.fromPayload(payload)
  const isStoring =
    typeof detail === 'object' && detail !== null && 'stage' in detail && detail.stage === 'storing'
  return isStoring ? 'storing' : 'calling'
}

function milliseconds(time: PendingActivity['nextAttemptScheduleTime']): number | undefined {
  if (time?.seconds === undefined || time.seconds === null) return undefined
  return time.seconds.toNumber() * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000)
}
