import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  defineQuery,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type {
  Activities,
  ImageTaskInput,
  ImageTaskResult,
  ImageTaskStatus,
  ProduceArgument,
} from './contract.ts'
import {
  heartbeatTimeoutMs,
  produceTaskQueue,
  searchAttributes,
  statusQueryName,
} from './contract.ts'
import type { TaskFailureCode } from '../src/domain/failure.ts'
import { taskFailureCodes } from '../src/domain/failure.ts'

const statusQuery = defineQuery<ImageTaskStatus>(statusQueryName)

/**
 * Runs one task as a workflow. A single activity, `produceImage`, brings the task to its end. While an
 * upstream refuses, Temporal runs the activity again after each delay. The activity records every end in PostgreSQL.
 * When the task fails, the workflow fails with the recorded code.
 *
 * A cancel succeeds only if no call may have done work. Otherwise the upstream may have to be paid, so the task
 * continues to its end.
 */
export async function imageTask(input: ImageTaskInput): Promise<ImageTaskResult> {
  let status: ImageTaskStatus = { stage: 'producing' }
  setHandler(statusQuery, () => status)
  const report: ReportStatus = (change) => {
    status = { ...status, ...change }
  }
  const { taskId, family, model } = input
  const activities = activitiesOf(input)

  const scope = CancellationScope.current()
  const produced = () =>
    CancellationScope.nonCancellable(() => produce({ taskId, family, model }, activities, report))
  // The workflow may be cancelled before its first workflow task. If so, no call starts, because it would
  // race with `cancelTask`.
  const work = scope.consideredCancelled ? undefined : produced()
  try {
    return await (work === undefined
      ? scope.cancelRequested
      : Promise.race([work, scope.cancelRequested]))
  } catch (error) {
    if (!(error instanceof CancelledFailure)) throw error
    report({ cancel: 'asking' })
    const cancelled = await CancellationScope.nonCancellable(() =>
      activities.cancelTask({ taskId }),
    )
    if (cancelled) {
      report({ stage: 'cancelled' })
      throw error
    }
    report({ cancel: 'kept' })
    return await (work ?? produced())
  }
}

type ReportStatus = (change: Partial<ImageTaskStatus>) => void

async function produce(
  argument: ProduceArgument,
  activities: Activities,
  report: ReportStatus,
): Promise<ImageTaskResult> {
  try {
    const outcome = await producedOutcome(activities, argument).catch((error: unknown) => {
      if (recordedFailure(error) !== undefined) throw error
      // The activity timed out, or an operator failed it. A call may have done work, so the task makes no further one.
      report({ stage: 'recording_failure' })
      return producedOutcome(activities, { ...argument, giveUp: true })
    })
    report({ stage: outcome })
    return { outcome }
  } catch (error) {
    const recorded = recordedFailure(error)
    if (recorded === undefined) throw error
    const { code, failure } = recorded
    report({ stage: 'failed', failureCode: code })
    nameInSearch(code, failure)
    throw failure
  }
}

/**
 * Runs `produceImage` until it returns an outcome. An operator can complete an activity by hand in Temporal,
 * with any result or none. Such a result says nothing about the task, so the activity runs again.
 */
async function producedOutcome(
  activities: Activities,
  argument: ProduceArgument,
): Promise<ImageTaskResult['outcome']> {
  for (;;) {
    const result: ImageTaskResult | null = await activities.produceImage(argument)
    if (result?.outcome !== undefined) return result.outcome
  }
}

/** Sets search attributes by which an operator finds failed runs. */
function nameInSearch(code: TaskFailureCode, { details }: ApplicationFailure): void {
  const last: unknown = details?.[0]
  const channel = typeof last === 'object' && last !== null && 'channel' in last && last.channel
  upsertSearchAttributes([
    { key: searchAttributes.failureCode, value: code },
    ...(typeof channel === 'string' ? [{ key: searchAttributes.channel, value: channel }] : []),
  ])
}

/**
 * The retry policy of all activities. The number of retries has no limit, because PostgreSQL keeps the task's
 * deadline even through crashes and outages.
 */
const retry = { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' } as const

/** Limit for `cancelTask`, which runs one short transaction. */
const cancelTimeout = '30 s'

function activitiesOf(input: ImageTaskInput): Activities {
  const { produceImage } = proxyActivities<Activities>({
    taskQueue: produceTaskQueue(workflowInfo().taskQueue, input.family),
    startToCloseTimeout: input.produceTimeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry,
    summary: input.model,
  })
  // A cancel uses the workflow's own queue, so that it runs even when all slots of the family's queue are taken.
  const { cancelTask } = proxyActivities<Activities>({ startToCloseTimeout: cancelTimeout, retry })
  return { produceImage, cancelTask }
}

type RecordedFailure = { readonly code: TaskFailureCode; readonly failure: ApplicationFailure }

/**
 * Returns the failure that `endFailure` in `activities/applicationFailure.ts` wrote, which is that of the whole run too.
 * Returns `undefined` for any other error. Rethrows an error that is no failure of an activity, such as a cancellation.
 */
function recordedFailure(error: unknown): RecordedFailure | undefined {
  if (!(error instanceof ActivityFailure)) throw error
  const { cause: failure } = error
  if (!(failure instanceof ApplicationFailure)) return undefined
  const code = taskFailureCodes.find((name) => name === failure.type)
  return code === undefined ? undefined : { code, failure }
}
