import { ApplicationFailure } from '@temporalio/common'
import type { TaskFailure } from '../src/domain/taskFailure.ts'
import { taskFailureMessages } from '../src/domain/taskFailure.ts'
import { unexpectedFailureType, waitFailureType } from '../workflows/contract.ts'
import type { Wait } from './waitMessage.ts'

/**
 * The only translator of ends and waits into Temporal's failures (design 1.16). Codes, numbers and
 * channel names: what an upstream or a library said stays out of the history.
 */

/** A durable wait: the server runs the activity again after the delay, however often. */
export function waitFailure(wait: Wait, message: string): ApplicationFailure {
  const { reason, channel } = wait
  return plain({
    type: waitFailureType,
    message,
    nonRetryable: false,
    // Zero would mean "none given", and the retry policy would choose a longer one.
    nextRetryDelay: Math.max(1, Math.ceil(wait.delayMs)),
    details: [{ reason, ...(channel === undefined ? {} : { channel }) }],
    category: 'BENIGN',
  })
}

/** The end of the task; the workflow reads it in `producedFailure.ts` and has it recorded. */
export function endFailure(failure: TaskFailure, channel: string | undefined): ApplicationFailure {
  return plain({
    type: failure.code,
    message: taskFailureMessages[failure.code],
    nonRetryable: true,
    details: [{ ...failure, ...(channel === undefined ? {} : { channel }) }],
    category: 'BENIGN',
  })
}

/** A bug or an outage, retried by the policy. The error itself goes to the log, its kind to the history. */
export function unexpectedFailure(error: unknown): ApplicationFailure {
  return plain({
    type: unexpectedFailureType,
    message: `unexpected failure: ${kindOf(error)}`,
    nonRetryable: false,
  })
}

/** `ECONNREFUSED`, `57P01`, `TypeError`: a system's or library's own short code, else the class. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z_]{1,40}$/.test(code) ? code : error.constructor.name
}

/** Without its stack: an expected failure has nothing to tell there, and stacks carry paths and texts. */
function plain(options: Parameters<typeof ApplicationFailure.create>[0]): ApplicationFailure {
  const failure = ApplicationFailure.create(options)
  failure.stack = ''
  return failure
}
