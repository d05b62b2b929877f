import { randomBytes as cryptoRandomBytes } from 'node:crypto'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { TaskFailure } from '../domain/failure.ts'
import type { WaitReason } from '../domain/gate/taskFacts.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { newUploadId } from '../domain/ids.ts'
import { callCheckMs } from '../domain/limits.ts'
import type {
  AttemptStore,
  BeginResult,
  OpenedAttempt,
  Question,
  Via,
} from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { UpstreamCaller, UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import type { AskGateDeps } from './askGate.ts'
import { askGate } from './askGate.ts'
import type { Beats } from './beats.ts'
import type { RequestRoom, RequestRooms } from './requestRoom.ts'
import { createRequestRooms } from './requestRoom.ts'
import { createSettleStored, settleAnswer } from './settleOrFail.ts'
import { storeAnswer } from './storedAnswer.ts'
import { elapsedMs, readClocks, retryFor } from './timeLimits.ts'

export type ProduceImageDeps = AskGateDeps & {
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly callUpstream: UpstreamCaller
  /** Called after each upstream call, for metrics and the log. Never throws. */
  readonly onOutcome?: (seen: SeenOutcome) => void
  /** The memory for large requests. Default: `createRequestRooms()`. */
  readonly rooms?: RequestRooms
  readonly beats: Pick<Beats, 'mayCall'>
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
  /** Default: `workflow`. */
  readonly via?: Via
  /** The first question to the gate. Default: `first`. */
  readonly question?: Question
}

/**
 * The stage of an attempt. The worker sends it to Temporal as the details of its heartbeats. A lookup of the task reads
 * it there to compute its Retry-After.
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
   * Run `produceImage` again after `delayMs`, and not earlier, because the gate relies on this delay. It
   * already contains the jitter that the gate wants.
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
  | { readonly kind: 'end'; readonly failure: TaskFailure; readonly accountId?: string }

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
  const rooms = deps.rooms ?? createRequestRooms()

  async function produce(input: ProduceInput, room: RequestRoom): Promise<ProduceResult> {
    const { taskId } = input
    let checked: number | undefined
    let refusedBy: RefusedBy | undefined
    let question = input.question ?? 'first'
    for (;;) {
      if (input.signal?.aborted === true) return { kind: 'wait', delayMs: 0, reason: 'stopping' }
      // Other processes may count this one as lost, and would then not wait for a call that begins now.
      if (!deps.beats.mayCall()) {
        return { kind: 'wait', delayMs: callCheckMs, reason: 'not_present' }
      }
      const step = await askAndCall(deps, { ...input, question }, room, checked)
      question = 'further'
      switch (step.kind) {
        case 'ran':
          if (step.result.kind !== 'closed') return step.result
          refusedBy = step.result.refusedBy
          break
        case 'needs_room':
          if (!(await room.cover(step))) {
            return { kind: 'wait', delayMs: rooms.retryDelayMs(step), reason: 'worker_full' }
          }
          break
        case 'unchecked':
          if (await settleAnswer(deps, step.answerId)) return { kind: 'succeeded' }
          checked = step.n
          break
        case 'end':
          // The worker of an earlier attempt may have stored an answer after it was counted as lost.
          if (step.failure.workPossible && (await settleStored(taskId))) {
            return { kind: 'succeeded' }
          }
          return step
        case 'wait':
          return { ...step, ...defined({ refusedBy }) }
        case 'over':
          return step
        default:
          return assertNever(step)
      }
    }
  }

  return (input: ProduceInput): Promise<ProduceResult> =>
    rooms.during((room) => produce(input, room))
}

type Step =
  | Exclude<BeginResult, { kind: 'opened' }>
  | { readonly kind: 'ran'; readonly result: ProduceResult | Closed }

/** Asks the gate, and makes the call if the gate opens an attempt. */
async function askAndCall(
  deps: ProduceImageDeps,
  input: ProduceInput,
  room: RequestRoom,
  checked: number | undefined,
): Promise<Step> {
  const { taskId, signal, via, question } = input
  const answerId = newUploadId(deps.randomBytes ?? cryptoRandomBytes, 'answer')
  const requestBytesMax = room.bytesMax()
  const asked = { taskId, answerId, requestBytesMax, ...defined({ checked, via, question }) }
  const begun = await askGate(deps, asked, signal)
  if (begun.kind !== 'opened') return begun
  const result = await runAttempt(deps, input, begun.attempt, room.end)
  room.end()
  return { kind: 'ran', result }
}

/** The attempt ended without an image. The gate decides the next step. */
type Closed = { readonly kind: 'closed'; readonly refusedBy?: RefusedBy }

async function runAttempt(
  deps: ProduceImageDeps,
  { taskId, onStage }: ProduceInput,
  attempt: OpenedAttempt,
  onSent: () => void,
): Promise<ProduceResult | Closed> {
  const { n, channel, accountId, model, takeRequest, upstreamKey, timeoutMs, answerId } = attempt
  const openedAt = readClocks()
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
  const hardEndMs = attempt.hardEndMs - elapsedMs(openedAt)
  if (outcome.class !== 'succeeded') {
    return close(deps, taskId, { ...attempt, hardEndMs }, outcome)
  }
  onStage?.({ stage: 'storing', attempt: n, channel: channel.name })
  const meta = await storeAnswer(deps.blobs, { taskId, attempt: n, answerId, hardEndMs, outcome })
  const settled = await deps.attempts.settleTask({ meta, answerId, accountId, evidence })
  return settled ? { kind: 'succeeded' } : { kind: 'over' }
}

/**
 * Records the outcome of a call. Tries again until the task's hard end, because an outcome that is not recorded
 * counts as unknown from then on, and the task may then pay for a second call.
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
