import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../domain/defined.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { LeaveTurn } from './largeRequests.ts'
import { largeBytes } from './largeRequests.ts'
import { callCheckMs } from '../../domain/limits.ts'
import { nextStep } from '../../domain/gate/nextStep.ts'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import type { NextStep, TaskFacts } from '../../domain/gate/taskFacts.ts'
import type { Served } from '../../domain/upstream/channel.ts'
import { channelsFor } from '../../domain/upstream/channel.ts'
import type { Over } from '../../store/attempts/readTaskFacts.ts'
import type { Opened } from './askForCall.ts'
import { askForCall, notPresent } from './askForCall.ts'
import type { ProduceImageDeps, ProduceInput } from './produceInput.ts'

/** A task that occupies a slot stands in line this long. Then Temporal keeps its wait, or the time of its next check. */
const lineMsMax = 15_000

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

/**
 * Tries the first call of a task before its facts are read, because nothing bars most of them. Returns `undefined` when
 * the facts decide: the call may not be made now, its request is large, or the task is in fact not at its first call.
 */
export async function tryFirstCall(
  deps: ProduceImageDeps,
  input: ProduceInput,
  served: Served,
): Promise<Opened | undefined> {
  const channel = orderChannels(channelsFor(deps.channels, served), deps.random).find(
    ({ name }) => !deps.places.isAwaited(name),
  )
  if (channel === undefined) return undefined
  const step = await askForCall(deps, input, { n: 1, channel, requestBytesMax: largeBytes })
  return step.kind === 'opened' ? step : undefined
}

/** Requests that come before it are read or stand in line. */
const noTurnYet = { kind: 'wait', delayMs: callCheckMs, reason: 'large_request' } as const

/** The request is large and must wait for its turn. */
type NoTurn = { readonly kind: 'no_turn'; readonly sync: boolean }

/** Begins the turn of a request with so many bytes, or returns `undefined`. */
type Enter = (bytes: number) => LeaveTurn | undefined

/**
 * Returns the next step of a task. A large request that finds no turn leaves the line, so that smaller ones do not wait
 * for it, and comes back with a turn. A task that occupies a slot does not wait for its turn in it for long either.
 */
export async function takeStepInLine(
  deps: ProduceImageDeps,
  input: ProduceInput,
  looked: ReadonlySet<string>,
): Promise<Step> {
  const step = await standInLine(deps, input, looked)
  if (step.kind !== 'no_turn') return step
  const { signal, via } = input
  const limits = via === 'direct' && step.sync ? [] : [AbortSignal.timeout(lineMsMax)]
  const over = AbortSignal.any([...limits, ...(signal === undefined ? [] : [signal])])
  const leaveRequest = await deps.largeRequests.enter(over)
  if (leaveRequest === undefined) return signal?.aborted === true ? { kind: 'changed' } : noTurnYet
  let opened = false
  try {
    const again = await standInLine(deps, input, looked, true)
    if (again.kind === 'no_turn') return { kind: 'changed' }
    opened = again.kind === 'opened'
    return again.kind === 'opened' ? { ...again, leaveRequest } : again
  } finally {
    if (!opened) leaveRequest()
  }
}

/**
 * While its channels are full, the task stands in line for a place. A newcomer does not take the place of a task that
 * waits for the same model. The line of another model may wait only for that model. Who has the turn of a large request
 * gives it back after a while, because its channels may be full for long.
 */
async function standInLine(
  deps: ProduceImageDeps,
  input: ProduceInput,
  looked: ReadonlySet<string>,
  hasTurn = false,
): Promise<Step | NoTurn> {
  const { signal } = input
  const enter: Enter = hasTurn ? () => () => {} : deps.largeRequests.tryEnter
  const found = await deps.attempts.readTaskFacts(input.taskId)
  if (found.kind === 'over') return found
  const { accountId, family, model, sync, deadlineAtMs, nowMs } = found.facts
  const awaited = found.facts.channels
    .map(({ channel }) => channel.name)
    .filter((name) => deps.places.isAwaited(name, model))
  const step = await takeStep(deps, input, looked, enter, withFull(found.facts, awaited))
  if (step.kind === 'wait' && step.reason === 'unknown_model') {
    deps.announceTask({ taskId: input.taskId, family, model })
  }
  if (step.kind !== 'wait' || step.inLine === undefined) return step
  const waiter = { accountId, sync, model, channels: step.inLine }
  const staysHere = input.via === 'direct' && sync
  const limitMs = staysHere && !hasTurn ? deadlineAtMs - nowMs : lineMsMax
  const ask = async (): Promise<Step | NoTurn | undefined> => {
    const read = deps.attempts.readTaskFacts(input.taskId)
    // Nobody else keeps the wait of a task that stays here, so it does not leave while PostgreSQL is away for a moment.
    const again = await (staysHere ? read.catch(() => undefined) : read)
    if (again === undefined || again.kind === 'over') return again
    const asked = await takeStep(deps, input, looked, enter, again.facts)
    if (staysHere && asked === notPresent) return undefined
    if (asked.kind !== 'wait' || asked.inLine === undefined) return asked
    // No place comes free before the end of the cooldown.
    if (asked.reason === 'cooldown') {
      await sleep(asked.delayMs, undefined, { signal }).catch(() => {})
    }
    return undefined
  }
  input.onStage?.({ stage: 'waiting' })
  const stepInLine = await deps.places.wait(waiter, ask, { limitMs, signal })
  if (stepInLine !== undefined) return stepInLine
  return staysHere || signal?.aborted === true ? { kind: 'changed' } : step
}

/** Decides, and opens the attempt of a call. When its channel has no place after all, decides again. */
async function takeStep(
  deps: ProduceImageDeps,
  input: ProduceInput,
  looked: ReadonlySet<string>,
  enter: Enter,
  facts: TaskFacts,
): Promise<Step | NoTurn> {
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
  const leaveRequest = enter(facts.requestBytes)
  if (leaveRequest === undefined) return { kind: 'no_turn', sync: facts.sync }
  const opened = await askForCall(deps, input, { n, channel }, leaveRequest)
  if (opened.kind !== 'full') return opened
  return takeStep(deps, input, looked, enter, withFull(facts, [channel.name]))
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
