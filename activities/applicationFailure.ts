import { ApplicationFailure } from '@temporalio/common'
import { assertNever } from '../src/domain/assertNever.ts'
import { defined } from '../src/domain/defined.ts'
import type { TaskFailure } from '../src/domain/failure.ts'
import { taskFailureMessages } from '../src/domain/failure.ts'
import type { ProduceResult } from '../src/tasks/produceImage.ts'
import { unexpectedFailureType, waitFailureType } from '../workflows/contract.ts'

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
    details: [{ reason, ...defined({ channel }) }],
    category: 'BENIGN',
  })
}

/** The end of the task; the workflow reads it in `producedFailure.ts` and has it recorded. */
export function endFailure(failure: TaskFailure, channel: string | undefined): ApplicationFailure {
  return plain({
    type: failure.code,
    message: taskFailureMessages[failure.code],
    nonRetryable: true,
    details: [{ ...failure, ...defined({ channel }) }],
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

type Wait = Extract<ProduceResult, { kind: 'wait' }>

/**
 * What Temporal's UI shows of a task that waits: `429 from b-main, until 12:00:37 UTC`. Of a paused
 * channel nobody knows until when.
 */
export function waitMessage(wait: Wait, nowMs: number): string {
  if (wait.reason === 'channel_paused') return causeOf(wait)
  const until = new Date(nowMs + wait.delayMs).toISOString().slice(11, 19)
  return `${causeOf(wait)}, until ${until} UTC`
}

function causeOf({ reason, channel = 'every channel', refusedBy }: Wait): string {
  switch (reason) {
    case 'cooldown':
      if (refusedBy === undefined) return `${channel} cools down`
      return refusedBy.httpStatus === undefined
        ? `no connection to ${refusedBy.channel}`
        : `${refusedBy.httpStatus} from ${refusedBy.channel}`
    case 'slow_start':
      return `${channel} is asked again slowly after a refusal`
    case 'channel_full':
      return `${channel} is full`
    case 'channel_paused':
      return `${channel} is paused`
    case 'call_under_way':
      return `an earlier call on ${channel} is under way`
    case 'backoff':
      return `${channel} is given a rest after a call without a good end`
    default:
      return assertNever(reason)
  }
}
