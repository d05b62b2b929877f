import { defined } from '../defined.ts'
import { cooldownMsMax } from '../limits.ts'

/**
 * How fast one model of one channel may be called after a refusal. All workers share this state through
 * PostgreSQL. Instants are epoch milliseconds of PostgreSQL's clock.
 *
 * After a refusal no call starts before `untilMs`. The first call after that is the probe, and a window begins with
 * it. Each call of the window is undecided until the upstream refuses it or it counts as taken. A refusal ends the
 * window. The threshold `learned` says how many calls the upstream took last time. Until so many calls are taken, the
 * number of calls that may be undecided at the same time doubles with each taken call: 1, 2, 4, … But taken and
 * undecided calls together never exceed the threshold. At the threshold the number starts again at one, and each
 * further taken call adds one. The idea is TCP's slow start (RFC 5681 section 3.1).
 *
 * Tasks that must wait get time slots that are `slotMs` apart. Because of this, waiting tasks do not call all
 * at once when the cooldown ends, and they do not ask the gate more often than needed.
 *
 * Most upstreams refuse at once but take minutes to draw. Therefore a call counts as taken after `takenAfterMs`
 * without a refusal. If the gate waited for the end of each call, all other tasks would wait minutes each
 * time. Some refusals come later: when a host does not answer, the call counts as refused only when our connection
 * times out. After such a refusal, calls count as taken later (`takenAfterMs` in the state).
 */
export type Cooldown = {
  readonly untilMs: number
  /** When the current window began with its probe. Absent while no probe has started. */
  readonly windowAtMs?: number
  /** Calls of this window that have ended without a refusal. */
  readonly granted: number
  /**
   * The slow-start threshold: how many calls the upstream took in the last window. For the first window, the
   * number of calls that were in flight at the refusal.
   */
  readonly learned: number
  /** Refusals in a row. Each one doubles the next cooldown if the upstream names no time. */
  readonly refusals: number
  /** The start of the next free time slot. */
  readonly slotAtMs: number
  readonly slotMs: number
  /**
   * A call counts as taken after this time without a refusal. Present only after a refusal that came late. Default:
   * the constant `takenAfterMs`.
   */
  readonly takenAfterMs?: number
}

/** The open calls of the current window, on this channel and model. */
export type WindowCalls = {
  /** Calls that are open for less than `takenAfterMs`. The upstream may still refuse them. */
  readonly asking: number
  /** Calls that are open for at least `takenAfterMs`. They count as taken. */
  readonly taken: number
}

export const takenAfterMs = 1_500
/** Limit for `takenAfterMs` of one cooldown. Longer than our connections take to time out. */
const takenAfterMsMax = 15_000

type Admission =
  | { readonly kind: 'admitted'; readonly next: Cooldown }
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: 'cooldown' | 'slow_start'
      readonly next: Cooldown
    }

const slotMsMin = 10
const slotMsMax = 10_000
/**
 * Limit for the wait for a time slot after the cooldown's end. Needed because the distance between slots is
 * only an estimate.
 */
const slotWaitMsMax = 60_000

/** Limit for the random part of a wait, which keeps tasks apart whose slots are the same. */
const jitterMsMax = 250

/** The state is out of date when the end of its cooldown and the start of its window are longer ago than this. */
export const quietMs = 60_000

/**
 * Returns whether the state is out of date, because `quietMs` have passed since the cooldown ended and the
 * window began.
 */
export function isPast({ untilMs, windowAtMs = untilMs }: Cooldown, nowMs: number): boolean {
  return nowMs - Math.max(untilMs, windowAtMs) > quietMs
}

/**
 * Decides whether a call may start now. Returns the decision, and the state that must be saved in both cases.
 * `jitter` is a random number in [0, 1).
 */
export function admit(
  state: Cooldown,
  input: { readonly nowMs: number; readonly open: WindowCalls; readonly jitter: number },
): Admission {
  const { nowMs, open, jitter } = input
  if (nowMs < state.untilMs) return waitForSlot(state, nowMs, state.untilMs, 'cooldown', jitter)
  const inWindow =
    state.windowAtMs === undefined ? { ...state, windowAtMs: nowMs, granted: 0 } : state
  if (open.asking >= askingMax(inWindow, open)) {
    return waitForSlot(inWindow, nowMs, nowMs + state.slotMs, 'slow_start', jitter)
  }
  return { kind: 'admitted', next: inWindow }
}

/**
 * Returns how many calls may be undecided at once. Before the threshold: 1, 2, 4, …, but at most as many as are still
 * missing to the threshold. From the threshold on: 1, 2, 3, …
 */
function askingMax({ granted, learned }: Cooldown, open: WindowCalls): number {
  const taken = granted + open.taken
  if (taken >= learned) return 1 + taken - learned
  return Math.min(2 ** taken, learned - taken)
}

function waitForSlot(
  state: Cooldown,
  nowMs: number,
  fromMs: number,
  reason: 'cooldown' | 'slow_start',
  jitter: number,
): Admission {
  // If the next slot is too far ahead, the slots start again from the beginning. A task that asks once too
  // often is better than a task that waits too long.
  const nextSlotAtMs = state.slotAtMs > fromMs + slotWaitMsMax ? fromMs : state.slotAtMs
  const slotAtMs = Math.max(nextSlotAtMs, fromMs)
  // The first slot after the cooldown belongs to the probe, and all others wait for the probe. So it gets no jitter.
  const isProbe = reason === 'cooldown' && state.slotAtMs <= fromMs
  const jitterMs = isProbe ? 0 : jitter * Math.min(state.slotMs, jitterMsMax)
  const delayMs = Math.ceil(slotAtMs - nowMs + jitterMs)
  const next = { ...state, slotAtMs: slotAtMs + state.slotMs }
  return { kind: 'wait', delayMs: Math.max(delayMs, 50), reason, next }
}

/**
 * Returns the state after a refused call that started at `openedAtMs`. If the call started before the current
 * window, its refusal says nothing about this window. Such a refusal can only lengthen the cooldown.
 */
export function afterRefusal(
  known: Cooldown | undefined,
  input: {
    readonly nowMs: number
    readonly openedAtMs: number
    /** All open attempts on this channel and model, including the refused one. */
    readonly inFlight: number
    readonly open: WindowCalls
    readonly retryAfterMs?: number
  },
): Cooldown {
  const { nowMs, openedAtMs, inFlight, open, retryAfterMs } = input
  const state = known === undefined || isPast(known, nowMs) ? undefined : known
  const refusals = (state?.refusals ?? 0) + 1
  const untilMs = nowMs + cooldownMs(retryAfterMs, refusals)
  const late = lateRefusal(state?.takenAfterMs, nowMs - openedAtMs)
  if (state === undefined) {
    const learned = Math.max(1, inFlight)
    const slotMs = slotMsMin * 5
    return { untilMs, granted: 0, learned, refusals, slotAtMs: untilMs, slotMs, ...late }
  }
  if (state.windowAtMs === undefined || openedAtMs < state.windowAtMs) {
    const laterMs = retryAfterMs === undefined ? 0 : nowMs + cooldownMs(retryAfterMs, 1)
    return laterMs <= state.untilMs ? state : { ...state, untilMs: laterMs }
  }
  const took = state.granted + open.taken
  // When the probe was refused, the cooldown was too short, and the threshold stays.
  const learned = took === 0 ? state.learned : took
  // The upstream takes about `learned` calls in the time from the start of this window to the end of the new
  // cooldown. This time gets twice as many slots, because a slot is not yet a call: a task asks in its slot, and the
  // slow start may send it on to a later slot. Only `learned` slots would bring the upstream fewer calls.
  //
  // The new distance applies only if all slots up to now have been given to tasks. Otherwise too few tasks were
  // waiting, and the upstream could have taken more calls.
  const limitMs = clamp((untilMs - state.windowAtMs) / learned / 2, slotMsMin, slotMsMax)
  const slotMs = state.slotAtMs > nowMs ? limitMs : state.slotMs
  return { untilMs, granted: 0, learned, refusals, slotAtMs: untilMs, slotMs, ...late }
}

/**
 * Raises `takenAfterMs` to a quarter more than the time that this refusal took, so that the next such refusal comes
 * before its call counts as taken. Never lowers it.
 */
function lateRefusal(
  knownMs: number | undefined,
  refusedAfterMs: number,
): Pick<Cooldown, 'takenAfterMs'> {
  const neededMs = Math.min(Math.round(refusedAfterMs * 1.25), takenAfterMsMax)
  if (neededMs <= (knownMs ?? takenAfterMs)) return defined({ takenAfterMs: knownMs })
  return { takenAfterMs: neededMs }
}

/**
 * The cooldown when the upstream sends no Retry-After. It doubles with each refusal in a row, up to the
 * maximum.
 */
const defaultCooldownMs = 1_000
const defaultCooldownMsMax = 30_000
/** After this many refusals in a row, Retry-After is no longer trusted: the cooldown may then be longer. */
const trustedRefusals = 3
const longerCooldownMsMax = 15_000

function cooldownMs(retryAfterMs: number | undefined, refusals: number): number {
  const unnamedMs = defaultCooldownMs * 2 ** (refusals - 1)
  if (retryAfterMs === undefined) return Math.min(unnamedMs, defaultCooldownMsMax)
  // An upstream that limits the calls in flight does not know how long our calls take, so its Retry-After is
  // a guess. If this time is too short again and again, the cooldown grows beyond it.
  const tooShort = refusals - trustedRefusals
  const longerMs = tooShort <= 0 ? 0 : defaultCooldownMs * 1.5 ** tooShort
  return clamp(retryAfterMs, Math.min(longerMs, longerCooldownMsMax), cooldownMsMax)
}

/**
 * Returns the state after a call that was not refused, whatever its outcome. Returns `undefined` when the caller must
 * delete the state: when it is out of date, or when the upstream took at least `concurrencyMax` calls more than the
 * threshold.
 */
export function afterGrant(
  state: Cooldown,
  input: {
    readonly nowMs: number
    readonly openedAtMs: number
    readonly open: WindowCalls
    readonly concurrencyMax: number
  },
): Cooldown | undefined {
  const { nowMs, openedAtMs, open, concurrencyMax } = input
  if (isPast(state, nowMs)) return undefined
  if (state.windowAtMs === undefined || openedAtMs < state.windowAtMs) return state
  const next = { ...state, granted: state.granted + 1, refusals: 0 }
  const beyond = next.granted + open.taken - next.learned
  if (beyond >= concurrencyMax) return undefined
  if (beyond <= 0) return next
  // Beyond the threshold, each call moves the slots a little closer together.
  return { ...next, slotMs: clamp(state.slotMs * 0.8, slotMsMin, slotMsMax) }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
