import { assertNever } from '../../domain/assertNever.ts'
import type { LeaveTurn } from './largeRequests.ts'
import { newUploadId } from '../../domain/ids.ts'
import { callCheckMs } from '../../domain/limits.ts'
import type { OpenedAttempt, OpenInput } from '../../store/attempts/openAttempt.ts'
import type { ProduceImageDeps, ProduceInput } from './produceInput.ts'
import type { Instant } from '../timeLimits.ts'
import { readClocks, retryFor } from '../timeLimits.ts'

export type Opened = {
  readonly kind: 'opened'
  readonly attempt: OpenedAttempt
  /** When this process first asked for the attempt. */
  readonly askedAt: Instant
  /** Ends the turn of a large request. */
  readonly leaveRequest: LeaveTurn
}

type AskedCall =
  | Opened
  | typeof notPresent
  /** The facts of the task are out of date. */
  | { readonly kind: 'changed' }
  /** The channel has no place for the task. */
  | { readonly kind: 'full' }

/** Other processes may soon count this one as lost. */
export const notPresent = { kind: 'wait', delayMs: callCheckMs, reason: 'not_present' } as const

/** How long a question is repeated whose answer was lost. It is answered with the same attempt again. */
const openMsMax = 3_000

/** Asks for an attempt. When it is not opened, ends the turn of the request. */
export async function askForCall(
  deps: ProduceImageDeps,
  { taskId, via = 'workflow', signal }: ProduceInput,
  wanted: Pick<OpenInput, 'n' | 'channel' | 'requestBytesMax'>,
  leaveRequest = () => {},
): Promise<AskedCall> {
  const { attempts, processId } = deps
  const { n, channel } = wanted
  const answerId = newUploadId('answer')
  const askedAt = readClocks()
  const question = { ...wanted, taskId, answerId, processId, via }
  let opened = false
  try {
    if (signal?.aborted === true) return { kind: 'changed' }
    const result = await retryFor(openMsMax, () => attempts.openAttempt(question), signal)
    switch (result.kind) {
      case 'opened':
        opened = true
        return { ...result, askedAt, leaveRequest }
      case 'not_present':
        return notPresent
      case 'full':
        return { kind: 'full' }
      case 'over':
      case 'changed':
      case 'paused':
      case 'cooldown':
        return { kind: 'changed' }
      default:
        return assertNever(result)
    }
  } catch (error) {
    // Nobody knows whether the attempt was opened, and its call will not be made. Its close goes on in the background
    // until its lease would be over, because PostgreSQL may be away for long.
    const notCalled = { class: 'refused', evidence: { reason: 'not_called' } } as const
    const close = { taskId, n, answerId, ...notCalled }
    retryFor(channel.timeoutMs, () => attempts.closeAttempt(close)).catch(() => {})
    throw error
  } finally {
    if (!opened) leaveRequest()
  }
}
