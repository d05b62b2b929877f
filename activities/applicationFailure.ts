import { ApplicationFailure } from '@temporalio/common'
import { assertNever } from '../src/domain/assertNever.ts'
import { defined } from '../src/domain/defined.ts'
import type { TaskFailure } from '../src/domain/failure.ts'
import { taskFailureMessages } from '../src/domain/failure.ts'
import type { ProduceResult } from '../src/tasks/produceImage.ts'
import { unexpectedFailureType, waitFailureType } from '../workflows/contract.ts'

// The only place where waits, ends and errors become failures of Temporal. They contain codes, numbers and
// channel names; texts of upstreams and libraries stay out of the history.

type Wait = Extract<ProduceResult, { kind: 'wait' }>

/** A durable wait: Temporal runs the activity again after the delay. Waits may follow without limit. */
export function waitFailure(wait: Wait, nowMs: number): ApplicationFailure {
  const { reason, channel } = wait
  return withoutStack({
    type: waitFailureType,
    message: waitMessage(wait, nowMs),
    nonRetryable: false,
    // Temporal reads zero as "no delay given" and takes the longer one of the retry policy.
    nextRetryDelay: Math.max(1, Math.ceil(wait.delayMs)),
    details: [{ reason, ...defined({ channel }) }],
    category: 'BENIGN',
  })
}

/** The end of the task without an image. `workflows/imageTask.ts` reads it and has it recorded. */
export function endFailure(failure: TaskFailure, channel: string | undefined): ApplicationFailure {
  return withoutStack({
    type: failure.code,
    message: taskFailureMessages[failure.code],
    nonRetryable: true,
    details: [{ ...failure, ...defined({ channel }) }],
    category: 'BENIGN',
  })
}

type ActivityOfTask = {
  readonly activity: 'produceImage' | 'recordFailure' | 'cancelTask'
  readonly taskId: string
}

/** Logs an error that is no expected end: a bug, or PostgreSQL or the blob store is unreachable. */
export type ReportUnexpected = (seen: ActivityOfTask & { readonly error: unknown }) => void

/**
 * Runs the work of one activity. An error that it throws goes to the log as it is, and to the history as
 * its kind alone. The retry policy runs the activity again.
 */
export async function reportingUnexpected<Value>(
  report: ReportUnexpected,
  about: ActivityOfTask,
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

/** The short code of a system or library (`ECONNREFUSED`, `57P01`), or else the class (`TypeError`). */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z_]{1,40}$/.test(code) ? code : error.constructor.name
}

/** Stacks contain paths and texts, which must stay out of the history. */
function withoutStack(
  options: Parameters<typeof ApplicationFailure.create>[0],
): ApplicationFailure {
  const failure = ApplicationFailure.create(options)
  failure.stack = ''
  return failure
}

/**
 * What Temporal's UI shows for a task that waits: `429 from b-main, until 12:00:37 UTC`. A paused channel
 * has no time, because an operator ends the pause.
 */
function waitMessage(wait: Wait, nowMs: number): string {
  if (wait.reason === 'channel_paused') return causeOf(wait)
  const until = new Date(nowMs + wait.delayMs).toISOString().slice(11, 19)
  return `${causeOf(wait)}, until ${until} UTC`
}

function causeOf(wait: Wait): string {
  const { reason, channel = 'every channel', refusedBy } = wait
  switch (reason) {
    case 'cooldown':
      if (refusedBy === undefined) return `${channel} cools down`
      return refusedBy.httpStatus === undefined
        ? `no connection to ${refusedBy.channel}`
        : `${refusedBy.httpStatus} from ${refusedBy.channel}`
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
      // Without a channel: `produceImage` stopped before the next call.
      return wait.channel === undefined
        ? 'no new call by this worker'
        : `pause after a failed call on ${channel}`
    default:
      return assertNever(reason)
  }
}
