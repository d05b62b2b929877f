import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow'
import type { FailureCause, TaskFailure, TaskFailureCode } from '../src/domain/taskFailure.ts'
import { failureCauses, taskFailureCodes } from '../src/domain/taskFailure.ts'

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
