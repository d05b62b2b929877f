import { ApplicationFailure } from '@temporalio/common'
import { defined } from '../src/domain/defined.ts'
import type { TaskFailure } from '../src/domain/failure.ts'
import { taskFailureMessages } from '../src/domain/failure.ts'
import type { ProduceResult } from '../src/tasks/produce/produceImage.ts'
import type { Logger } from '../src/telemetry/logger.ts'
import { unexpectedFailureType, waitFailureType } from '../workflows/contract.ts'

// This is the only file where waits, ends and errors become Temporal failures. These failures contain codes,
// numbers and channel names only. Texts of upstreams and libraries must not get into Temporal's history.

type Wait = Extract<ProduceResult, { kind: 'wait' }>

/**
 * Returns the failure that makes Temporal run the activity again after the wait. A task may wait any number
 * of times.
 */
export function waitFailure({ reason, channel, delayMs }: Wait): ApplicationFailure {
  const where = channel === undefined ? '' : ` (${channel})`
  return withoutStack({
    type: waitFailureType,
    // Temporal's UI shows it with the time of the next try, such as `channel full (b-main)`.
    message: `${reason.replaceAll('_', ' ')}${where}`,
    nonRetryable: false,
    // A delay of zero means "no delay" to Temporal, which would then wait as long as the retry policy says.
    nextRetryDelay: Math.max(1, Math.ceil(delayMs)),
    category: 'BENIGN',
  })
}

/**
 * Returns the failure of a task whose end without an image is recorded. The workflow (`workflows/imageTask.ts`) fails
 * with the same code. `channel` is that of the last attempt.
 */
export function endFailure(failure: TaskFailure, channel?: string): ApplicationFailure {
  return withoutStack({
    type: failure.code,
    message: taskFailureMessages[failure.code],
    nonRetryable: true,
    details: [{ ...failure, ...defined({ channel }) }],
    category: 'BENIGN',
  })
}

/**
 * Runs the work of one activity. An error is unexpected: a bug, or PostgreSQL or the blob store is unreachable. The log
 * gets it, and Temporal's history gets only its kind. The retry policy then runs the activity again.
 */
export async function reportingUnexpected<Value>(
  log: Pick<Logger, 'error'>,
  about: { readonly step: 'produceImage' | 'cancelTask'; readonly taskId: string },
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    log.error('activity failed unexpectedly', { ...about, error })
    throw withoutStack({
      type: unexpectedFailureType,
      message: `unexpected failure: ${kindOf(error)}`,
      nonRetryable: false,
    })
  }
}

/**
 * Returns the short code of a system or library error (`ECONNREFUSED`, `57P01`). Returns the name of the
 * error's class (`TypeError`) when there is no code.
 */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z_]{1,40}$/.test(code) ? code : error.constructor.name
}

/**
 * Creates a failure without a stack, because stacks contain paths and texts that must not get into the
 * history.
 */
function withoutStack(
  options: Parameters<typeof ApplicationFailure.create>[0],
): ApplicationFailure {
  const failure = ApplicationFailure.create(options)
  failure.stack = ''
  return failure
}
