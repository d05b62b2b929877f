import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  defineQuery,
  defineSignal,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import type { Activities } from '../activities/createActivities.ts'
import type { FailureCause, TaskFailure, TaskFailureCode } from '../src/domain/failure.ts'
import { failureCauses, taskFailureCodes, taskFailureMessages } from '../src/domain/failure.ts'
import type { ImageTaskInput, ImageTaskResult, ImageTaskStatus } from './contract.ts'
import {
  heartbeatTimeoutMs,
  produceTaskQueue,
  searchAttributes,
  statusQueryName,
  waitingSignalName,
} from './contract.ts'

const statusQuery = defineQuery<ImageTaskStatus>(statusQueryName)
const waitingSignal = defineSignal<[string]>(waitingSignalName)

/** Recorded in histories: see workflows/README.md. */
const askFirstPatch = 'ask-before-producing'

/**
 * The story of one task (design 1.5, 1.11). One activity brings it to its end, waiting out refusals by
 * its own durable retries. A task that fails is recorded and ends as a Failed workflow with its code. A
 * cancel counts while no call has been made; after that the call is paid for, so the task goes on.
 */
export async function imageTask(input: ImageTaskInput): Promise<ImageTaskResult> {
  let status: ImageTaskStatus = { stage: 'producing' }
  setHandler(statusQuery, () => status)
  setHandler(waitingSignal, setCurrentDetails)
  const tell = (next: Partial<ImageTaskStatus>) => {
    status = { ...status, ...next }
    if (next.stage !== undefined) setCurrentDetails('')
  }
  const { taskId } = input
  const activities = activitiesFor(input)

  const scope = CancellationScope.current()
  const produced = () => CancellationScope.nonCancellable(() => produce(taskId, activities, tell))
  // A cancel that came before any worker saw the run: to begin now would race against it.
  const askFirst = scope.consideredCancelled && patched(askFirstPatch)
  const work = askFirst ? undefined : produced()
  try {
    return await (work === undefined
      ? scope.cancelRequested
      : Promise.race([work, scope.cancelRequested]))
  } catch (error) {
    if (!(error instanceof CancelledFailure)) throw error
    tell({ cancel: 'asking' })
    const cancelled = await CancellationScope.nonCancellable(() =>
      activities.cancelTask({ taskId }),
    )
    if (cancelled) {
      tell({ stage: 'cancelled' })
      throw error
    }
    tell({ cancel: 'kept' })
    return await (work ?? produced())
  }
}

async function produce(
  taskId: string,
  activities: ImageTaskActivities,
  tell: (next: Partial<ImageTaskStatus>) => void,
): Promise<ImageTaskResult> {
  try {
    const outcome = await producedOutcome(taskId, activities)
    tell({ stage: outcome })
    return { outcome }
  } catch (error) {
    const { failure, channel } = producedFailure(error)
    tell({ stage: 'recording_failure', failureCode: failure.code })
    const recorded = await activities.recordFailure({ taskId, failure })
    if (recorded === 'succeeded') {
      tell({ stage: 'succeeded' })
      return { outcome: 'succeeded' }
    }
    tell({ stage: 'failed' })
    throw failedTask(failure, channel)
  }
}

/** An operator may complete the activity by hand with anything: only itself says how the task stands. */
async function producedOutcome(
  taskId: string,
  activities: ImageTaskActivities,
): Promise<ImageTaskResult['outcome']> {
  for (;;) {
    const result: ImageTaskResult | null = await activities.produceImage({ taskId })
    if (result?.outcome !== undefined) return result.outcome
  }
}

/** The operator finds failed runs by code and channel; both upserts ride on the closing workflow task. */
function failedTask(failure: TaskFailure, channel: string | undefined): ApplicationFailure {
  const { code } = failure
  upsertSearchAttributes([
    { key: searchAttributes.failureCode, value: code },
    ...(channel === undefined ? [] : [{ key: searchAttributes.channel, value: channel }]),
  ])
  return ApplicationFailure.create({
    type: code,
    message: taskFailureMessages[code],
    nonRetryable: true,
    details: [failure],
    category: 'BENIGN',
  })
}

export type ImageTaskActivities = Activities

/** Retried without end, for crashes and outages: the task's deadline is kept in PostgreSQL (design 1.1). */
const retry = { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' } as const

/** One statement or two in PostgreSQL. */
const recordTimeout = '30 s'

/** The activities of one task, each with every limit explicit. */
export function activitiesFor(input: ImageTaskInput): ImageTaskActivities {
  const { produceImage } = proxyActivities<Activities>({
    taskQueue: produceTaskQueue(input.family),
    startToCloseTimeout: input.produceTimeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: input.model,
  })
  // On the workflow's own queue: a family whose slots are all taken can still be cancelled.
  const { recordFailure, cancelTask } = proxyActivities<Activities>({
    startToCloseTimeout: recordTimeout,
    retry,
  })
  return { produceImage, recordFailure, cancelTask }
}

export type ProducedFailure = { readonly failure: TaskFailure; readonly channel?: string }

/** Nothing is known of the end, so a call may have done work: never a reason to call again. */
const unknownEnd: ProducedFailure = {
  failure: { code: 'upstream_error', cause: 'unknown', workPossible: true },
}

/** Reads the end that `activities/applicationFailure.ts` wrote; any other error is an unknown end. */
export function producedFailure(error: unknown): ProducedFailure {
  if (!(error instanceof ActivityFailure)) throw error
  const { cause } = error
  if (!(cause instanceof ApplicationFailure)) return unknownEnd
  const code = taskFailureCodes.find((name) => name === cause.type)
  const detail: unknown = cause.details?.[0]
  if (code === undefined || !isObject(detail)) return unknownEnd
  return read(code, detail)
}

function read(code: TaskFailureCode, detail: Readonly<Record<string, unknown>>): ProducedFailure {
  const { cause, workPossible, retryAfterMs, channel } = detail
  const known: FailureCause = failureCauses.find((name) => name === cause) ?? 'unknown'
  const failure = {
    code,
    cause: known,
    workPossible: workPossible !== false,
    ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}),
  }
  return typeof channel === 'string' ? { failure, channel } : { failure }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
