import type { WorkflowExecutionDescription } from '@temporalio/client'
import { defaultPayloadConverter } from '@temporalio/common'
import { workflowIdOf } from '../domain/ids.ts'
import type { LiveStatus } from '../domain/task.ts'
import type { Temporal } from './connect.ts'

type DescribeTask = (taskId: string) => Promise<LiveStatus | undefined>

/** Design 1.15: a poll must not wait for Temporal, nor a thousand polls flood it. */
const limits = { timeoutMs: 250, parallel: 32, cachedMs: 1_000, cachedMax: 2_000 } as const

type Known = { readonly live: Promise<LiveStatus | undefined>; readonly untilMs: number }

/**
 * What the workflow knows of a task in flight; `undefined` whenever Temporal cannot tell at once. One
 * question per task at a time, its answer good for a second. `nowMs` is monotonic.
 */
export function createDescribeTask(deps: {
  readonly temporal: Temporal
  readonly nowMs: () => number
}): DescribeTask {
  const known = new Map<string, Known>()
  let underWay = 0

  async function ask(taskId: string): Promise<LiveStatus | undefined> {
    underWay += 1
    try {
      const { client, within } = deps.temporal
      const handle = client.workflow.getHandle(workflowIdOf(taskId))
      const { raw } = await within(limits.timeoutMs, () => handle.describe())
      return liveStatus(raw.pendingActivities)
    } catch {
      // Unreachable, slow or unknown to Temporal: the row alone answers.
      return undefined
    } finally {
      underWay -= 1
    }
  }

  return (taskId) => {
    const nowMs = deps.nowMs()
    const present = known.get(taskId)
    if (present !== undefined && nowMs < present.untilMs) return present.live
    if (underWay >= limits.parallel) return Promise.resolve(undefined)
    const live = ask(taskId)
    known.delete(taskId)
    known.set(taskId, { live, untilMs: nowMs + limits.cachedMs })
    forgetOldest(known)
    return live
  }
}

/** A map keeps insertion order, so its first keys are the oldest answers. */
function forgetOldest(known: Map<string, Known>): void {
  for (const taskId of known.keys()) {
    if (known.size <= limits.cachedMax) return
    known.delete(taskId)
  }
}

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]

/** `PENDING_ACTIVITY_STATE_SCHEDULED` and `…_STARTED` of Temporal's API. */
const scheduledState = 1
const startedState = 2

/**
 * What a description tells beyond the row (design 1.15): the activity in its durable wait, or the stage
 * of its last heartbeat. A first attempt that waits for a slot tells nothing: the task is queued.
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

/** Heartbeats come seconds apart; before the first one the call has just begun. */
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
