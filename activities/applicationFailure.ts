import { ApplicationFailure } from '@temporalio/common'
import { assertNever } from '../src/domain/assertNever.ts'
import { defined } from '../src/domain/defined.ts'
import type { TaskFailure } from '../src/domain/failure.ts'
import { taskFailureMessages } from '../src/domain/failure.ts'
import type { ProduceResult } from '../src/tasks/produceImage.ts'
import { unexpectedFailureType, waitFailureType } from '../workflows/contract.ts'

// This is the only file where waits, ends and errors become Temporal failures. These failures contain codes,
// numbers and channel names only. Texts of upstreams and libraries must not get into Temporal's history.

type Wait = Extract<ProduceResult, { kind: 'wait' }>

/**
 * Returns the failure that makes Temporal run the activity again after the wait. A task may wait any number
 * of times.
 */
export function waitFailure(wait: Wait, nowMs: number): ApplicationFailure {
  const { reason, channel } = wait
  return withoutStack({
    type: waitFailureType,
    message: waitMessage(wait, nowMs),
    nonRetryable: false,
    // A delay of zero means "no delay" to Temporal, which would then wait as long as the retry policy says.
    nextRetryDelay: Math.max(1, Math.ceil(wait.delayMs)),
    details: [{ reason, ...defined({ channel }) }],
    category: 'BENIGN',
  })
}

/**
 * Returns the failure of a task whose end without an image is recorded. The workflow (`workflows/imageTask.ts`) fails
 * with the same code.
 */
export function endFailure(failure: TaskFailure, channel: string | undefined): ApplicationFailure {
  return withoutStack({
    type: failure.code,
    message: taskFailureMessages[failure.code],
    nonRetryable: true,
    details: [{ ...failure, ...defined({ channel }) }],
    category: 'BENIGN',
  })
}

type ActivityRun = {
  readonly activity: 'produceImage' | 'cancelTask'
  readonly taskId: string
}

/** Logs an unexpected error. The cause is a bug, or PostgreSQL or the blob store is unreachable. */
export type ReportUnexpected = (seen: ActivityRun & { readonly error: unknown }) => void

/**
 * Runs the work of one activity. If the work throws an error, the log gets the whole error, and Temporal's
 * history gets only its kind. The retry policy then runs the activity again.
 */
export async function reportingUnexpected<Value>(
  report: ReportUnexpected,
  about: ActivityRun,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    report({ ...about, error })
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

/**
 * Returns the text that Temporal's UI shows for a waiting task, such as `b-main cools down, until 12:00:37 UTC`. For a paused channel the text has no time, because an operator ends the pause.
 */
function waitMessage(wait: Wait, nowMs: number): string {
  if (wait.reason === 'channel_paused') return causeOf(wait)
  const until = new Date(nowMs + wait.delayMs).toISOString().slice(11, 19)
  return `${causeOf(wait)}, until ${until} UTC`
}

function causeOf(wait: Wait): string {
  const { reason, channel = 'every channel' } = wait
  switch (reason) {
    case 'cooldown':
      return `${channel} cools down`
    case 'slow_start':
      return `${channel} takes calls slowly after a refusal`
    case 'channel_full':
      return `${channel} is full`
    case 'channel_paused':
      return `${channel} is paused`
    case 'call_under_way':
      return wait.channel === undefined
        ? 'a call is under way'
        : `an earlier call on ${channel} is under way`
    case 'backoff':
      return `pause after a failed call on ${channel}`
    case 'stopping':
      return 'this worker is stopping'
    case 'not_present':
      return 'this worker does not reach PostgreSQL in time'
    default:
      return assertNever(reason)
  }
}
