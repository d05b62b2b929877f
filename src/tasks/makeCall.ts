import { defined } from '../domain/defined.ts'
import { callWithinMs } from '../domain/limits.ts'
import type { UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import type { AttemptClose } from '../store/attempts/closeAttempt.ts'
import { storeAnswer } from './storedAnswer.ts'
import type { Opened, ProduceImageDeps, ProduceInput } from './takeStep.ts'
import { elapsedMs, readClocks, retryFor } from './timeLimits.ts'

export type RefusedBy = { readonly channel: string; readonly httpStatus?: number }

/** The attempt ended without an image. The task's row decides the next step. */
type Closed = { readonly kind: 'closed'; readonly refusedBy?: RefusedBy }

/** `over`: the answer came after the end of the task. */
type MadeCall = { readonly kind: 'succeeded' | 'over' } | Closed

type Outcome = Pick<AttemptClose, 'class' | 'evidence' | 'retryAfterMs' | 'nativeRejection'>

const notCalled: Outcome = { class: 'refused', evidence: { reason: 'not_called' } }
/** What an attempt is closed with when this process stops in the middle of it. Its answer may be stored. */
const givenUp: Outcome = { class: 'unknown', evidence: { reason: 'worker_lost' } }

/**
 * Makes the call of an open attempt, stores its answer and settles the task. Closes the attempt in every case: with its
 * outcome, as not called, or as unknown after an error. The close is tried until the task's hard end, because an
 * outcome that is not recorded counts as unknown, and the task may then pay for a second call.
 */
export async function makeCall(
  deps: ProduceImageDeps,
  { taskId, onStage }: ProduceInput,
  { attempt, askedAt, leaveRequest }: Opened,
): Promise<MadeCall> {
  const { attempts, blobs, clocks = readClocks } = deps
  const { n, channel, answerId, request, model, upstreamKey, timeoutMs } = attempt
  const leftMs = () => attempt.hardEndMs - elapsedMs(askedAt, clocks())
  const about = { attempt: n, channel: channel.name }
  let unrecorded: Outcome | undefined = notCalled
  try {
    // Other processes may soon count this one as lost, when it has stood still since it asked for the attempt.
    if (elapsedMs(askedAt, clocks()) > callWithinMs) return { kind: 'closed' }
    onStage?.({ stage: 'calling', ...about })
    unrecorded = givenUp
    const origin = { taskId, attempt: n }
    const outcome = await deps.callUpstream({
      origin,
      channel,
      model,
      request,
      onSent: leaveRequest,
      upstreamKey,
      timeoutMs,
    })
    const { evidence } = outcome
    deps.onOutcome?.({ taskId, ...about, outcome: { class: outcome.class, evidence } })
    if (outcome.class !== 'succeeded') {
      unrecorded = outcome
      return { kind: 'closed', ...refusal(channel.name, outcome) }
    }
    onStage?.({ stage: 'storing', ...about })
    const meta = await storeAnswer(blobs, {
      taskId,
      attempt: n,
      answerId,
      hardEndMs: leftMs(),
      outcome,
      onFirstFailure: () => attempts.extendLease(taskId, n),
    })
    const settled = await attempts.settleTask({ meta, answerId, evidence })
    unrecorded = settled ? undefined : { class: 'succeeded', evidence }
    return settled ? { kind: 'succeeded' } : { kind: 'over' }
  } finally {
    leaveRequest()
    if (unrecorded !== undefined) {
      const { concurrencyMax } = channel
      const close = { taskId, n, ...unrecorded, concurrencyMax }
      await retryFor(leftMs(), () => attempts.closeAttempt(close))
    }
    deps.places.callEnded(channel.name)
  }
}

function refusal(channel: string, outcome: UpstreamOutcome): Pick<Closed, 'refusedBy'> {
  if (outcome.class !== 'refused') return {}
  return { refusedBy: { channel, ...defined({ httpStatus: outcome.evidence.httpStatus }) } }
}
