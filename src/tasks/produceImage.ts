import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { TaskFailure } from '../domain/failure.ts'
import type { WaitReason } from '../domain/gate/taskFacts.ts'
import type { AttemptStore, OpenedAttempt } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { AnswerMeta } from '../domain/storedAnswer.ts'
import type { OutcomeEvidence, UpstreamCaller, UpstreamOutcome } from '../domain/upstreamCall.ts'
import { createPresence } from './presence.ts'
import { retryUntil } from './retryUntil.ts'
import { createSettleStored } from './settleOrFail.ts'
import { readAnswerMeta, storeAnswer } from './storedAnswer.ts'

export type ProduceImageDeps = {
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly callUpstream: UpstreamCaller
  /** Told of every closed attempt: for metrics and the log. Never throws. */
  readonly onOutcome?: (seen: SeenOutcome) => void
  /** Goes on while the process is stopped. Default: `performance.now()`. */
  readonly monotonicMs?: () => number
}

const closeRetryMs = 30_000

/**
 * A process that was stopped (SIGSTOP, a sleeping machine) between the gate and the call must not call
 * when it wakes: the task may have ended meanwhile. Well below the silence after which a worker counts
 * as lost, so whoever acts in time acts before anybody else may.
 */
const gateAnswerMsMax = 8_000
const staleGate = 'the leave to call was too old to be acted on: this process was stopped'

export type SeenOutcome = {
  readonly taskId: string
  readonly attempt: number
  readonly channel: string
  readonly outcome: Pick<UpstreamOutcome, 'class' | 'evidence'>
}

type ProduceInput = {
  readonly taskId: string
  /** The caller no longer wants a new call begun. A call under way is finished: it is paid for. */
  readonly signal?: AbortSignal
  readonly onStage?: (stage: Stage) => void
}

/**
 * Brings one task as far as it can be brought now: begin → call → store → settle, and again after an
 * outcome that lets it go on at once. Safe to run at any time, twice at once, and after any crash: the
 * gate in `beginAttempt` decides, stored answers are settled instead of called for again.
 */
export function createProduceImage(deps: ProduceImageDeps) {
  const settleStoredOf = createSettleStored(deps)
  const presence = createPresence(deps.attempts)
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  return async (input: ProduceInput): Promise<ProduceResult> => {
    let checked: number | undefined
    let refusedBy: RefusedBy | undefined
    for (;;) {
      if (input.signal?.aborted === true) return { kind: 'wait', delayMs: 0, reason: 'backoff' }
      const askedAtMs = monotonicMs()
      const begun = await deps.attempts.beginAttempt({
        taskId: input.taskId,
        ...defined({ checked }),
      })
      switch (begun.kind) {
        case 'opened': {
          if (monotonicMs() - askedAtMs > gateAnswerMsMax) throw new Error(staleGate)
          const { attempt } = begun
          const name = { taskId: input.taskId, n: attempt.n }
          const ran = await presence.during(name, () => runAttempt(deps, input, attempt))
          if (ran.kind !== 'closed') return ran
          refusedBy = ran.refusedBy
          break
        }
        case 'unchecked':
          if (await settleStored(deps, begun.answerId)) return { kind: 'succeeded' }
          checked = begun.n
          break
        case 'end':
          // An answer may have come in late, from a worker given up for lost.
          if (begun.failure.workPossible && (await settleStoredOf(input.taskId))) {
            return { kind: 'succeeded' }
          }
          return begun
        case 'wait':
          return { ...begun, ...defined({ refusedBy }) }
        case 'over':
          return begun
        default:
          return assertNever(begun)
      }
    }
  }
}

type RefusedBy = NonNullable<Extract<ProduceResult, { kind: 'wait' }>['refusedBy']>

/** Without an image: the gate is to be asked what is next. */
type Closed = { readonly kind: 'closed'; readonly refusedBy?: RefusedBy }

async function runAttempt(
  deps: ProduceImageDeps,
  input: ProduceInput,
  attempt: OpenedAttempt,
): Promise<ProduceResult | Closed> {
  const { taskId } = input
  const { n, channel, request, upstreamKey, timeoutMs } = attempt
  input.onStage?.({ stage: 'calling', attempt: n, channel: channel.name })
  const outcome = await deps.callUpstream({
    origin: { taskId, attempt: n },
    channel,
    request,
    idempotencyKey: upstreamKey,
    timeoutMs,
  })
  const seen = { class: outcome.class, evidence: outcome.evidence }
  deps.onOutcome?.({ taskId, attempt: n, channel: channel.name, outcome: seen })
  if (outcome.class !== 'succeeded') {
    const { evidence } = outcome
    const close = {
      taskId,
      n,
      class: outcome.class,
      evidence,
      ...('retryAfterMs' in outcome ? { retryAfterMs: outcome.retryAfterMs } : {}),
      ...('nativeRefusal' in outcome ? { nativeRefusal: outcome.nativeRefusal } : {}),
    }
    // An outcome that is not written down counts as unknown: it is worth some patience.
    await retryUntil(() => deps.attempts.closeAttempt(close), { limitMs: closeRetryMs })
    return outcome.class === 'refused' ? closedBy(channel.name, evidence) : { kind: 'closed' }
  }
  input.onStage?.({ stage: 'storing', attempt: n, channel: channel.name })
  const { answerId, hardEndMs } = attempt
  const meta = await storeAnswer(deps.blobs, { taskId, attempt: n, answerId, hardEndMs, outcome })
  return settle(deps, meta, answerId, outcome)
}

function closedBy(channel: string, { httpStatus }: OutcomeEvidence): Closed {
  const refusedBy = { channel, ...defined({ httpStatus }) }
  return { kind: 'closed', refusedBy }
}

async function settle(
  deps: ProduceImageDeps,
  meta: AnswerMeta,
  answerId: string,
  outcome: Extract<UpstreamOutcome, { class: 'succeeded' }>,
): Promise<ProduceResult> {
  const { evidence } = outcome
  const settled = await deps.attempts.settleTask({ meta, answerId, evidence })
  return settled ? { kind: 'succeeded' } : { kind: 'over' }
}

async function settleStored(deps: ProduceImageDeps, answerId: string): Promise<boolean> {
  const meta = await readAnswerMeta(deps.blobs, answerId)
  return meta !== undefined && (await deps.attempts.settleTask({ meta, answerId }))
}

/** How far one go at a task came; `produceImage` never throws for an expected end (design 1.5). */
export type ProduceResult =
  | { readonly kind: 'succeeded' }
  /** Ended by somebody else, or gone: nothing is left to do. */
  | { readonly kind: 'over' }
  /** Come again after `delayMs`, jitter included: the gate has counted on it (design 1.8). */
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
      /** Who refused the call made just before. Without a status: nobody was reached. */
      readonly refusedBy?: { readonly channel: string; readonly httpStatus?: number }
    }
  /** The end without an image, decided but not yet recorded. */
  | { readonly kind: 'end'; readonly failure: TaskFailure }

/** Where an attempt is, told as it moves: heartbeat details, and from there the status of the lookup. */
export type Stage = {
  readonly stage: 'calling' | 'storing'
  readonly attempt: number
  readonly channel: string
}
