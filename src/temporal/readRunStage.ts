import type { WorkflowExecutionDescription } from '@temporalio/client'
import { defaultPayloadConverter } from '@temporalio/common'
import type { Temporal } from './connect.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { RunStage } from '../domain/tasks/task.ts'

/**
 * Limits for questions to Temporal about tasks. The timeout is short, because a client that reads a task must
 * not wait for a slow Temporal. The other limits keep many such reads from overloading Temporal.
 */
const timeoutMs = 250
const underWayMax = 32
const cachedMs = 1_000

/**
 * Returns a function that asks Temporal what an unfinished task is doing. It returns `undefined` when Temporal knows
 * nothing more than PostgreSQL, does not answer in time, or has too many questions under way. It asks about each task
 * at most once a second. Other callers in that second get the same answer.
 */
export function createReadRunStage({ client, withDeadline }: Temporal) {
  const answers = new Map<string, Promise<RunStage | undefined>>()
  let underWay = 0

  async function ask(taskId: string): Promise<RunStage | undefined> {
    underWay += 1
    try {
      const handle = client.workflow.getHandle(workflowIdOf(taskId))
      const { raw } = await withDeadline(timeoutMs, () => handle.describe())
      return runStageOf(raw.pendingActivities)
    } catch {
      // Temporal is unreachable or slow, or has no such workflow. The caller then uses only the task's row.
      return undefined
    } finally {
      underWay -= 1
    }
  }

  return async (taskId: string): Promise<RunStage | undefined> => {
    const known = answers.get(taskId)
    if (known !== undefined) return known
    if (underWay >= underWayMax) return undefined
    const stage = ask(taskId)
    answers.set(taskId, stage)
    setTimeout(() => answers.delete(taskId), cachedMs).unref()
    return stage
  }
}

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]

/** `PENDING_ACTIVITY_STATE_SCHEDULED` and `PENDING_ACTIVITY_STATE_STARTED` in Temporal's API. */
const scheduledState = 1
const startedState = 2

/**
 * Returns what a pending `produceImage` activity shows in addition to the task's row: a wait between two executions of
 * the activity, or the stage in its last heartbeat. Returns `undefined` when no such activity is pending.
 */
function runStageOf(
  pendingActivities: readonly PendingActivity[] | null | undefined,
): RunStage | undefined {
  const activity = pendingActivities?.find((each) => each.activityType?.name === 'produceImage')
  if (activity === undefined) return undefined
  const state = Number(activity.state)
  if (state === startedState) return { stage: stageOf(activity) }
  if (state !== scheduledState) return undefined
  if ((activity.attempt ?? 1) <= 1) return { stage: 'accepted' }
  const { seconds, nanos } = activity.nextAttemptScheduleTime ?? {}
  if (seconds === undefined || seconds === null) return { stage: 'waiting' }
  const untilMs = seconds.toNumber() * 1_000 + Math.floor((nanos ?? 0) / 1_000_000)
  return { stage: 'waiting', untilMs }
}

/**
 * Returns the stage in the last heartbeat. Returns `calling` also when there is no heartbeat yet, or when the last
 * one has no stage: the activity then decides, waits a short time, or has just begun its call.
 */
function stageOf(activity: PendingActivity): 'calling' | 'storing' | 'waiting' {
  const payload = activity.heartbeatDetails?.payloads?.[0]
  const detail: unknown = payload && defaultPayloadConverter.fromPayload(payload)
  const said = typeof detail === 'object' && detail !== null && 'stage' in detail && detail.stage
  return said === 'storing' || said === 'waiting' ? said : 'calling'
}
