import type { WorkflowExecutionDescription } from '@temporalio/client'
import { defaultPayloadConverter } from '@temporalio/common'
import type { LiveStatus } from '../domain/taskState.ts'

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]

/** `PENDING_ACTIVITY_STATE_SCHEDULED` and `…_STARTED` of Temporal's API. */
const scheduledState = 1
const startedState = 2

/**
 * What a description tells beyond the row (design 1.15): the activity in its durable wait, or the stage
 * of its last heartbeat. A first attempt that waits for a slot tells nothing: the task is queued.
 */
export function liveStatus(
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
