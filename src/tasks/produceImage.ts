import { randomBytes as cryptoRandomBytes } from 'node:crypto'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { TaskFailure } from '../domain/failure.ts'
import type { WaitReason } from '../domain/gate/taskFacts.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { newUploadId } from '../domain/ids.ts'
import type {
  AttemptStore,
  BeginInput,
  BeginResult,
  OpenedAttempt,
} from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { UpstreamCaller, UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import { createPresence } from './presence.ts'
import type { RequestRoom, RequestRooms } from './requestRoom.ts'
import { createRequestRooms } from './requestRoom.ts'
import { createSettleStored, settleAnswer } from './settleOrFail.ts'
import { storeAnswer } from './storedAnswer.ts'
import { retryFor } from './timeLimits.ts'

export type ProduceImageDeps = {
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly callUpstream: UpstreamCaller
  /** Called after each upstream call, for metrics and the log. Never throws. */
  readonly onOutcome?: (seen: SeenOutcome) => void
  /** The memory for large requests. Default: `createRequestRooms()`. */
  readonly rooms?: RequestRooms
  /**
   * A monotonic clock that also counts the time while the process is stopped. Default: `performance.now()`.
   */
  readonly monotonicMs?: () => number
  readonly randomBytes?: RandomBytes
}

export type SeenOutcome = {
  readonly taskId: string
  readonly attempt: number
  readonly channel: string
  readonly outcome: Pick<UpstreamOutcome, 'class' | 'evidence'>
}

type ProduceInput = {
  readonly taskId: string
  /** Aborts when no new call should start. A call that is under way finishes, because it is paid for. */
  readonly signal?: AbortSignal
  readonly onStage?: (stage: Stage) => void
}

/**
 * The stage of an attempt. The worker sends it to Temporal as the details of its heartbeats, and the task
 * lookup reads it there.
 */
export type Stage = {
  readonly stage: 'calling' | 'storing'
  readonly attempt: number
  readonly channel: string
}

/** How far `produceImage` brought the task. Expected ends are results, not exceptions. */
export type ProduceResult =
  | { readonly kind: 'succeeded' }
  /** The task has already ended or does not exist, so there is nothing to do. */
  | { readonly kind: 'over' }
  /**
   * Run `produceImage` again after `delayMs`, and not earlier, because the gate relies on this delay. The
   * delay already contains jitter.
   */
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: WaitReason
      readonly channel?: string
      /**
       * The channel that refused the last call of this execution. No `httpStatus` means that the connection
       * failed.
       */
      readonly refusedBy?: RefusedBy
    }
  /** The task must end without an image. The caller must record this end. */
  | { readonly kind: 'end'; readonly failure: TaskFailure }

type RefusedBy = { readonly channel: string; readonly httpStatus?: number }

/**
 * Creates the function that brings one task as far as possible now. The function begins an attempt, calls
 * upstream, stores the answer, and settles. After an outcome that allows another call at once, it begins the
 * next attempt.
 *
 * The function is safe to run at any time, twice at once, and after any crash. The gate in `beginAttempt`
 * decides whether a call may start. If an answer is already stored, the function settles it and makes no new
 * call.
 */
export function createProduceImage(deps: ProduceImageDeps) {
  const settleStored = createSettleStored(deps)
  const presence = createPresence(deps.attempts)
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const rooms = deps.rooms ?? createRequestRooms()

  async function produce(input: ProduceInput, room: RequestRoom): Promise<ProduceResult> {
    const { taskId } = input
    let checked: number | undefined
    let refusedBy: RefusedBy | undefined
    for (;;) {
      if (input.signal?.aborted === true) return { kind: 'wait', delayMs: 0, reason: 'backoff' }
      const askedAtMs = monotonicMs()
      const requestBytesMax = room.bytesMax()
      const begun = await askGate(deps, { taskId, requestBytesMax, ...defined({ checked }) })
      switch (begun.kind) {
        case 'opened': {
          const { attempt } = begun
          const name = { taskId, n: attempt.n }
          if (monotonicMs() - askedAtMs > gateAnswerMsMax) {
            await presence.during(name, () => abandon(deps, taskId, attempt))
            throw new Error(gateAnswerTooOld)
          }
          const ran = await presence.during(name, () => runAttempt(deps, input, attempt, room.end))
          room.end()
          if (ran.kind !== 'closed') return ran
          refusedBy = ran.refusedBy
          break
        }
        case 'needs_room':
          if (!(await room.cover(begun))) {
            return { kind: 'wait', delayMs: rooms.retryDelayMs(begun), reason: 'worker_full' }
          }
          break
        case 'unchecked':
          if (await settleAnswer(deps, begun.answerId)) return { kind: 'succeeded' }
          checked = begun.n
          break
        case 'end':
          // A worker that counted as lost may still have stored an answer.
          if (begun.failure.workPossible && (await settleStored(taskId))) {
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

  return (input: ProduceInput): Promise<ProduceResult> =>
    rooms.during((room) => produce(input, room))
}

/**
 * Asks the gate. An error does not say whether the gate opened an attempt, because the connection can be lost
 * after the commit. No call follows, so the attempt is abandoned before the error is thrown.
 */
async function askGate(deps: ProduceImageDeps, input: BeginInput): Promise<BeginResult> {
  const { taskId } = input
  const answerId = newUploadId(deps.randomBytes ?? cryptoRandomBytes, 'answer')
  try {
    return await deps.attempts.beginAttempt({ ...input, answerId })
  } catch (error) {
    await abandon(deps, taskId, { answerId, hardEndMs: lostGateMs }).catch(() => {})
    throw error
  }
}

/** How long the worker tries to close the attempt of a question to the gate that got no answer. */
const lostGateMs = 60_000

/**
 * Closes an attempt whose call was not made. Without this, the attempt would count as lost, and so as a call
 * that may have done work.
 */
async function abandon(
  deps: ProduceImageDeps,
  taskId: string,
  { answerId, hardEndMs }: Pick<OpenedAttempt, 'answerId' | 'hardEndMs'>,
): Promise<void> {
  await retryFor(hardEndMs, () => deps.attempts.abandonAttempt({ taskId, answerId }))
}

/**
 * Limit for the age of the gate's answer when the call starts. A process can be stopped (SIGSTOP, a suspended
 * machine) between the gate and the call, or PostgreSQL can be slow, and the task may end meanwhile. The
 * limit is shorter than `presentMs`, the silence after which other workers doubt this one. So a call within
 * the limit starts before another worker may act.
 */
const gateAnswerMsMax = 8_000
const gateAnswerTooOld = 'the answer of the gate is too old for a call'

/** The attempt ended without an image. The gate decides the next step. */
type Closed = { readonly kind: 'closed'; readonly refusedBy?: RefusedBy }

async function runAttempt(
  deps: ProduceImageDeps,
  { taskId, onStage }: ProduceInput,
  attempt: OpenedAttempt,
  onSent: () => void,
): Promise<ProduceResult | Closed> {
  const { n, channel, model, takeRequest, upstreamKey, timeoutMs, answerId, hardEndMs } = attempt
  onStage?.({ stage: 'calling', attempt: n, channel: channel.name })
  const outcome = await deps.callUpstream({
    origin: { taskId, attempt: n },
    channel,
    model,
    takeRequest,
    onSent,
    upstreamKey,
    timeoutMs,
  })
  const { evidence } = outcome
  const seen = { class: outcome.class, evidence }
  deps.onOutcome?.({ taskId, attempt: n, channel: channel.name, outcome: seen })
  if (outcome.class !== 'succeeded') return close(deps, taskId, attempt, outcome)
  onStage?.({ stage: 'storing', attempt: n, channel: channel.name })
  const meta = await storeAnswer(deps.blobs, { taskId, attempt: n, answerId, hardEndMs, outcome })
  const settled = await deps.attempts.settleTask({ meta, answerId, evidence })
  return settled ? { kind: 'succeeded' } : { kind: 'over' }
}

/**
 * Records the outcome of a call. Tries until the hard end, because an outcome that is not recorded later
 * counts as unknown.
 */
async function close(
  deps: ProduceImageDeps,
  taskId: string,
  { n, channel, hardEndMs }: OpenedAttempt,
  outcome: Exclude<UpstreamOutcome, { class: 'succeeded' }>,
): Promise<Closed> {
  const { evidence } = outcome
  const attemptClose = {
    taskId,
    n,
    class: outcome.class,
    evidence,
    ...('retryAfterMs' in outcome ? { retryAfterMs: outcome.retryAfterMs } : {}),
    ...('nativeRejection' in outcome ? { nativeRejection: outcome.nativeRejection } : {}),
  }
  await retryFor(hardEndMs, () => deps.attempts.closeAttempt(attemptClose))
  if (outcome.class !== 'refused') return { kind: 'closed' }
  const { httpStatus } = evidence
  return { kind: 'closed', refusedBy: { channel: channel.name, ...defined({ httpStatus }) } }
}
