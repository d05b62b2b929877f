import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { TaskFailure } from '../domain/failure.ts'
import { nextStep } from '../domain/gate/nextStep.ts'
import { orderChannels } from '../domain/gate/orderChannels.ts'
import type { Places } from '../domain/gate/places.ts'
import type { NextStep, TaskFacts } from '../domain/gate/taskFacts.ts'
import { newUploadId } from '../domain/ids.ts'
import { callCheckMs } from '../domain/limits.ts'
import type { Family } from '../domain/models/models.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { Channel } from '../domain/upstream/channel.ts'
import { channelsOf } from '../domain/upstream/channel.ts'
import type { UpstreamCaller } from '../domain/upstream/upstreamCall.ts'
import type { AttemptStore } from '../store/attempts/attemptStore.ts'
import type { OpenedAttempt, OpenInput, Via } from '../store/attempts/openAttempt.ts'
import type { Over } from '../store/attempts/readTaskFacts.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Recorders } from '../telemetry/metrics.ts'
import type { Beats } from './beats.ts'
import type { EnterRequest } from './largeRequests.ts'
import { largeBytes } from './largeRequests.ts'
import type { Instant } from './timeLimits.ts'
import { readClocks, retryFor } from './timeLimits.ts'

export type ProduceImageDeps = {
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly log: Logger
  readonly metrics: Recorders
  readonly callUpstream: UpstreamCaller
  /** The id of this process, in the table of beats. */
  readonly processId: string
  readonly beats: Pick<Beats, 'mayCall'>
  readonly places: Places
  readonly enterRequest: EnterRequest
  /** The channels of all families, in the operator's order. */
  readonly channels: readonly Channel[]
  /** The limit `UPSTREAM_CALLS_MAX`. */
  readonly callsMax: number
  /** Returns a random number in [0, 1). */
  readonly random: () => number
}

export type ProduceInput = {
  readonly taskId: string
  /** Default: `workflow`. */
  readonly via?: Via
  /** The family of a task that has probably had no call yet. Its first call is tried at once. */
  readonly firstOf?: Family
  /** Aborts when no new call should start. A call that is under way finishes, because it is paid for. */
  readonly signal?: AbortSignal
  readonly onStage?: (stage: Stage) => void
  /** The task occupies no slot until its call. A synchronous one then stands in line to its deadline. */
  readonly takesNoSlot?: boolean
  /** Make no further call: settle a stored answer, wait for a call under way, and otherwise end the task. */
  readonly giveUp?: boolean
}

/**
 * What `produceImage` does with the task: it makes a call or stores its answer, or the task stands in line. The worker
 * sends it to Temporal as the details of its heartbeats, where a lookup of the task reads it.
 */
export type Stage =
  | { readonly stage: 'calling' | 'storing'; readonly channel: string }
  | { readonly stage: 'waiting' }

/** A task stands in line this long in its slot. Then Temporal keeps its wait. */
const lineMsMax = 15_000

/** Other processes may soon count this one as lost. */
export const notPresent = { kind: 'wait', delayMs: callCheckMs, reason: 'not_present' } as const

type Step =
  | Exclude<NextStep, { kind: 'call' | 'end' }>
  | {
      readonly kind: 'end'
      readonly failure: TaskFailure
      readonly attempts: number
      /** The channel of the last attempt. */
      readonly channel?: string
    }
  | Over
  /** The row has changed since its facts were read. */
  | { readonly kind: 'changed' }
  | Opened

export type Opened = {
  readonly kind: 'opened'
  readonly attempt: OpenedAttempt
  /** When this process first asked for the attempt. */
  readonly askedAt: Instant
  /** Ends the turn of a large request. */
  readonly leaveRequest: () => void
}

/**
 * Tries the first call of a task before its facts are read, because nothing bars most of them. Returns `undefined` when
 * the facts decide: the call may not be made now, its request is large, or the task is in fact not at its first call.
 */
export async function tryFirstCall(
  deps: ProduceImageDeps,
  input: ProduceInput,
  family: Family,
): Promise<Opened | undefined> {
  const channel = orderChannels(channelsOf(deps.channels, family), deps.random).find(
    ({ name }) => !deps.places.isAwaited(name),
  )
  if (channel === undefined) return undefined
  const step = await open(deps, input, { n: 1, channel, requestBytesMax: largeBytes })
  return step.kind === 'opened' ? step : undefined
}

/**
 * Returns the next step of a task. While its channels are full, the task stands in line for a place. A newcomer does not
 * take the place of a task that waits for the same model. The line of another model may wait only for that model.
 */
export async function takeStepInLine(
  deps: ProduceImageDeps,
  input: ProduceInput,
  looked: ReadonlySet<string>,
): Promise<Step> {
  const found = await deps.attempts.readTaskFacts(input.taskId)
  if (found.kind === 'over') return found
  const { accountId, model, sync, deadlineAtMs, nowMs } = found.facts
  const awaited = found.facts.channels
    .map(({ channel }) => channel.name)
    .filter((name) => deps.places.isAwaited(name, model))
  const step = await takeStep(deps, input, looked, withFull(found.facts, awaited))
  if (step.kind !== 'wait' || step.inLine === undefined) return step
  const waiter = { accountId, sync, model, channels: step.inLine }
  const isLong = input.takesNoSlot === true && sync
  const limitMs = isLong ? deadlineAtMs - nowMs : lineMsMax
  const ask = async (): Promise<Step | undefined> => {
    const again = await deps.attempts.readTaskFacts(input.taskId)
    if (again.kind === 'over') return again
    const asked = await takeStep(deps, input, looked, again.facts)
    return asked.kind === 'wait' && asked.inLine !== undefined ? undefined : asked
  }
  input.onStage?.({ stage: 'waiting' })
  return (await deps.places.wait(waiter, ask, { limitMs, signal: input.signal })) ?? step
}

/** Decides, and opens the attempt of a call. When its channel has no place after all, decides again. */
async function takeStep(
  deps: ProduceImageDeps,
  input: ProduceInput,
  looked: ReadonlySet<string>,
  facts: TaskFacts,
): Promise<Step> {
  const givenUp = input.giveUp === true
  const step = nextStep(facts, { callsMax: deps.callsMax, jitter: deps.random(), looked, givenUp })
  if (step.kind === 'end') {
    return {
      ...step,
      attempts: facts.attempts,
      ...defined({ channel: facts.past.at(-1)?.channel }),
    }
  }
  if (step.kind !== 'call') return step
  const { n, channel } = step
  const leaveRequest = await deps.enterRequest(facts.requestBytes)
  const opened = await open(deps, input, { n, channel }, leaveRequest)
  return opened.kind === 'full'
    ? takeStep(deps, input, looked, withFull(facts, [channel.name]))
    : opened
}

/** The facts with further channels on which there is no place. A channel that has a bar keeps it. */
function withFull(facts: TaskFacts, names: readonly string[]): TaskFacts {
  const channels = facts.channels.map((state) =>
    state.bar === undefined && names.includes(state.channel.name)
      ? { ...state, bar: 'full' as const }
      : state,
  )
  return { ...facts, channels }
}

/** How long a question is repeated whose answer was lost. It is answered with the same attempt again. */
const openMsMax = 3_000

/** Asks for an attempt. When it is not opened, ends the turn of the request. */
async function open(
  deps: ProduceImageDeps,
  { taskId, via = 'workflow', signal }: ProduceInput,
  wanted: Pick<OpenInput, 'n' | 'channel' | 'requestBytesMax'>,
  leaveRequest = () => {},
): Promise<Step | { readonly kind: 'full' }> {
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
