import { defined } from '../domain/defined.ts'
import { callWithinMs } from '../domain/limits.ts'
import type { UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import type { AttemptClose } from '../store/attempts/closeAttempt.ts'
import { storeAnswer } from './storedAnswer.ts'
import type { Opened, ProduceImageDeps, ProduceInput } from './takeStep.ts'
import { elapsedMs, readClocks, retryFor } from './timeLimits.ts'

export type RefusedBy = { readonly channel: string; readonly httpStatus?: number }

/** The attempt brought no image, or brought it after the end of the task. The task's row decides the next step. */
type Closed = { readonly kind: 'closed'; readonly refusedBy?: RefusedBy }

type MadeCall = { readonly kind: 'succeeded' } | Closed

type Outcome = Pick<AttemptClose, 'class' | 'evidence' | 'retryAfterMs' | 'nativeRejection'>

const notCalled: Outcome = { class: 'refused', evidence: { reason: 'not_called' } }
/** What an attempt is closed with when this process stops in the middle of it. Its answer may be stored. */
const givenUp: Outcome = { class: 'unknown', evidence: { reason: 'worker_lost' } }

/** When the lease is moved to the hard end: soon after the time by which the call is over in any case. */
const leaseMovesAfterMs = 5_000
/** How long a settlement is repeated. After that the stored answer is settled by who takes up the task. */
const settleMsMax = 5_000

/**
 * Makes the call of an open attempt, stores its answer and settles the task. Closes the attempt in every case: with its
 * outcome, as not called, or as unknown after an error. The close is tried until the task's hard end, because an
 * outcome that is not recorded counts as unknown, and the task may then pay for a second call.
 *
 * While an answer that is paid for waits for memory or for the blob store, its lease lasts to the hard end, so that nobody
 * makes the call again meanwhile.
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
  const moveLease = () => {
    retryFor(leftMs(), () => attempts.extendLease(taskId, n)).catch(() => {})
  }
  const leaseTimer = setTimeout(moveLease, timeoutMs + leaseMovesAfterMs)
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
    const hardEndMs = leftMs()
    const meta = await storeAnswer(blobs, { taskId, attempt: n, answerId, hardEndMs, outcome })
    const settle = () => attempts.settleTask({ meta, answerId, evidence })
    const isSettled = await retryFor(Math.min(settleMsMax, leftMs()), settle)
    unrecorded = isSettled ? undefined : { class: 'succeeded', evidence }
    if (isSettled) return { kind: 'succeeded' }
    await retryFor(leftMs(), () => attempts.sweepAnswer(taskId, answerId))
    return { kind: 'closed' }
  } finally {
    clearTimeout(leaseTimer)
    leaveRequest()
    const { concurrencyMax } = channel
    const close = unrecorded && { taskId, n, ...unrecorded, concurrencyMax }
    await record(deps, close, leftMs()).finally(() => deps.places.callEnded(channel.name))
  }
}

async function record(
  { attempts }: ProduceImageDeps,
  close: AttemptClose | undefined,
  limitMs: number,
): Promise<void> {
  if (close !== undefined) await retryFor(limitMs, () => attempts.closeAttempt(close))
}

function refusal(channel: string, outcome: UpstreamOutcome): Pick<Closed, 'refusedBy'> {
  if (outcome.class !== 'refused') return {}
  return { refusedBy: { channel, ...defined({ httpStatus: outcome.evidence.httpStatus }) } }
}
