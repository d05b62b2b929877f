import type { WorkflowExecutionDescription } from '@temporalio/client'
import { defaultPayloadConverter } from '@temporalio/common'
import type { Temporal } from './connect.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { RunStage } from '../domain/tasks/task.ts'

type ReadRunStage = (taskId: string) => Promise<RunStage | undefined>

/**
 * Limits for questions to Temporal about tasks. The timeout is short, because a client that reads a task must
 * not wait for a slow Temporal. The other limits keep many such reads from overloading Temporal.
 */
const limits = {
  timeoutMs: 250,
  parallel: 32,
  cachedMs: 1_000,
  /** How long an answer is still given after `cachedMs`, while Temporal is asked again. */
  staleMs: 1_000,
  cachedMax: 2_000,
} as const

type Answer = { stage: Promise<RunStage | undefined>; readonly validUntilMs: number }

/**
 * Returns a function that asks Temporal what an unfinished task is doing. The function returns `undefined`
 * when Temporal knows nothing more than PostgreSQL, does not answer in time, or has too many questions under way.
 * It asks about each task at most once a second. Other callers in that second get the same answer. When the last
 * question is one to two seconds old, callers get its answer and do not wait for the new one: if many tasks are looked
 * up all the time, the questions about them come together and take tens of milliseconds. `nowMs` reads a clock that
 * never goes back.
 */
export function createReadRunStage(deps: {
  readonly temporal: Temporal
  readonly nowMs: () => number
}): ReadRunStage {
  const answers = new Map<string, Answer>()
  let underWay = 0

  async function ask(taskId: string): Promise<RunStage | undefined> {
    underWay += 1
    try {
      const { client, withDeadline } = deps.temporal
      const handle = client.workflow.getHandle(workflowIdOf(taskId))
      const { raw } = await withDeadline(limits.timeoutMs, () => handle.describe())
      return runStageOf(raw.pendingActivities)
    } catch {
      // Temporal is unreachable or slow, or has no such workflow. The caller then uses only the task's row.
      return undefined
    } finally {
      underWay -= 1
    }
  }

  return (taskId) => {
    const nowMs = deps.nowMs()
    const cached = answers.get(taskId)
    if (cached !== undefined && nowMs < cached.validUntilMs) return cached.stage
    const isRecent = cached !== undefined && nowMs < cached.validUntilMs + limits.staleMs
    if (underWay >= limits.parallel) return isRecent ? cached.stage : Promise.resolve(undefined)
    const asked = ask(taskId)
    const answer: Answer = {
      stage: isRecent ? cached.stage : asked,
      validUntilMs: nowMs + limits.cachedMs,
    }
    void asked.finally(() => {
      answer.stage = asked
    })
    // Deleted first, so that the task moves to the end of the map. Setting an existing key would not move it.
    answers.delete(taskId)
    answers.set(taskId, answer)
    dropOldest(answers)
    return answer.stage
  }
}

/**
 * Deletes the oldest answers. They are the first keys of the map, because a map keeps the order of insertion.
 */
function dropOldest(answers: Map<string, Answer>): void {
  for (const taskId of answers.keys()) {
    if (answers.size <= limits.cachedMax) return
    answers.delete(taskId)
  }
}

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]

/**
 * The values of `PENDING_ACTIVITY_STATE_SCHEDULED` and `PENDING_ACTIVITY_STATE_STARTED` in Temporal's API.
 */
const scheduledState = 1
const startedState = 2

/**
 * Returns what a pending `produceImage` activity shows in addition to the task's row. That is either a wait
 * between two executions of the activity, or the stage in its last heartbeat. Returns `undefined` when no such
 * activity is pending. Returns `undefined` also while its first execution waits for a slot of a worker, because the
 * task is then simply queued.
 */
function runStageOf(
  pendingActivities: readonly PendingActivity[] | null | undefined,
): RunStage | undefined {
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

/**
 * Returns the stage in the last heartbeat. Returns `calling` also when there is no heartbeat yet, or when the last
 * one has no stage: the activity then asks the gate, waits a short time, or has just begun its call.
 */
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
