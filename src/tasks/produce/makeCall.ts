import { defined } from '../../domain/defined.ts'
import { callWithinMs } from '../../domain/limits.ts'
import type { OutcomeClass, OutcomeEvidence } from '../../domain/upstream/upstreamCall.ts'
import type { AttemptClose } from '../../store/attempts/closeAttempt.ts'
import type { Opened } from './askForCall.ts'
import { storeAnswer } from './storedAnswer.ts'
import type { ProduceImageDeps, ProduceInput } from './produceInput.ts'
import { elapsedMs, retryFor } from '../timeLimits.ts'

type Outcome = Pick<AttemptClose, 'class' | 'evidence' | 'retryAfterMs' | 'nativeRejection'>

/** What an attempt is closed with after an error. As for a lost worker, its answer may be stored. */
const lostOutcome: Outcome = { class: 'unknown', evidence: { reason: 'worker_lost' } }

/** When the lease is moved to the hard end: soon after the time by which the call is over in any case. */
const leaseMovesAfterMs = 5_000
/** How long a settlement is repeated. After that the stored answer is settled by who takes up the task. */
const settleMsMax = 5_000

/**
 * Makes the call of an open attempt, stores its answer and settles the task. Returns whether the task has now succeeded;
 * otherwise its row decides the next step. Closes the attempt in every case: with its
 * outcome, or as unknown after an error. The close is tried until the task's hard end, because an
 * outcome that is not recorded counts as unknown, and the task may then pay for a second call.
 *
 * While an answer that is paid for waits for memory or for the blob store, its lease lasts to the hard end, so that nobody
 * makes the call again meanwhile.
 */
export async function makeCall(
  deps: ProduceImageDeps,
  { taskId, onStage }: ProduceInput,
  { attempt, askedAt, leaveRequest }: Opened,
): Promise<boolean> {
  const { attempts } = deps
  const { n, channel, answerId, accountId, request, model, upstreamKey, repeats, timeoutMs } =
    attempt
  const leftMs = () => attempt.hardEndMs - elapsedMs(askedAt)
  let unrecorded: Outcome | undefined = lostOutcome
  const moveLease = () => {
    retryFor(leftMs(), () => attempts.extendLease(taskId, n)).catch(() => {})
  }
  const leaseTimer = setTimeout(moveLease, timeoutMs + leaseMovesAfterMs)
  try {
    onStage?.({ stage: 'calling', channel: channel.name })
    const outcome = await deps.callUpstream({
      channel,
      accountId,
      model,
      request,
      onSent: leaveRequest,
      upstreamKey,
      repeats,
      timeoutMs,
      mayBegin: () => elapsedMs(askedAt) <= callWithinMs,
    })
    const { vendorCode } = outcome.evidence
    const code = vendorCode && { vendorCode: deps.vendorCodes.note(channel.name, vendorCode) }
    const evidence = { ...outcome.evidence, ...code }
    const seen = { taskId, attempt: n, channel: channel.name, class: outcome.class }
    report(deps, seen, evidence)
    if (outcome.class !== 'succeeded') {
      unrecorded = { ...outcome, evidence }
      return false
    }
    onStage?.({ stage: 'storing', channel: channel.name })
    const hardEndMs = leftMs()
    const meta = await storeAnswer(deps, { taskId, attempt: n, answerId, hardEndMs, outcome })
    const settle = () => attempts.settleTask({ meta, answerId, evidence })
    const isSettled = await retryFor(Math.min(settleMsMax, leftMs()), settle)
    unrecorded = isSettled ? undefined : { class: 'succeeded', evidence }
    return isSettled
  } finally {
    clearTimeout(leaseTimer)
    leaveRequest()
    const { concurrencyMax } = channel
    const close = unrecorded && { taskId, n, ...unrecorded, concurrencyMax }
    try {
      if (close !== undefined) await retryFor(leftMs(), () => attempts.closeAttempt(close))
    } finally {
      deps.places.callEnded(channel.name)
    }
  }
}

function report(
  { log, metrics }: ProduceImageDeps,
  call: {
    readonly taskId: string
    readonly attempt: number
    readonly channel: string
    readonly class: OutcomeClass
  },
  { reason, latencyMs, ...seen }: OutcomeEvidence,
): void {
  metrics.upstreamCall({ channel: call.channel, class: call.class, reason, latencyMs })
  const durationMs = latencyMs === undefined ? undefined : Math.round(latencyMs)
  log.info('upstream call', {
    ...call,
    reason,
    ...seen,
    ...defined({ durationMs }),
  })
}
