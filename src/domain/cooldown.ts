import { cooldownMsMax } from './limits.ts'

/**
 * Manners towards one model of one channel after it refused (design 1.8). All workers share this state
 * through PostgreSQL; all times are epoch milliseconds of its clock.
 *
 * After a refusal nothing is sent before `untilMs`. Then a window begins: one probe goes first, and each
 * granted call doubles the parallel calls until as many were granted as the window before gave
 * (`learned`); from there on one more at a time, as TCP probes beyond its slow-start threshold. A refusal
 * ends the window. Tasks that must wait are given slots `slotMs` apart, so that a backlog neither
 * stampedes when the cooldown ends nor asks in vain.
 */
export type Cooldown = {
  readonly untilMs: number
  /** Start of the present window: when the probe went. Absent while cooling. */
  readonly windowMs?: number
  /** Calls that the upstream did not refuse in this window. */
  readonly granted: number
  /** Calls allowed in flight in this window. */
  readonly parallel: number
  /** Grants of the last full window: the slow-start threshold. */
  readonly learned: number
  /** Refusals in a row without a grant between: doubles the cooldown where the upstream names none. */
  readonly refusals: number
  /** The next slot to be handed out. */
  readonly slotAtMs: number
  readonly slotMs: number
}

export type Admission =
  | { readonly kind: 'admitted'; readonly next: Cooldown }
  | {
      readonly kind: 'wait'
      readonly delayMs: number
      readonly reason: 'cooldown' | 'slow_start'
      readonly next: Cooldown
    }

/** Without Retry-After: this, doubled for each refusal that follows without a grant between. */
const defaultCooldownMs = 1_000
const defaultCooldownMsMax = 30_000
const slotMsMin = 10
const slotMsMax = 10_000
/** Nobody is told to come back later than this for want of a slot: estimates may be wrong. */
const slotWaitMsMax = 60_000
/** A window without refusal for this long ends the slow start: the limit is gone. */
export const windowQuietMs = 60_000

/**
 * May a call go now? `inFlight`: open attempts on this channel and model. `jitter`: a number in [0, 1).
 */
export function admit(
  state: Cooldown,
  input: { readonly nowMs: number; readonly inFlight: number; readonly jitter: number },
): Admission {
  const { nowMs, inFlight, jitter } = input
  if (nowMs < state.untilMs) return waitForSlot(state, nowMs, state.untilMs, 'cooldown', jitter)
  const windowMs = state.windowMs ?? nowMs
  const inWindow =
    state.windowMs === undefined ? { ...state, windowMs, granted: 0, parallel: 1 } : state
  if (inFlight >= inWindow.parallel) {
    return waitForSlot(inWindow, nowMs, nowMs + state.slotMs, 'slow_start', jitter)
  }
  return { kind: 'admitted', next: inWindow }
}

function waitForSlot(
  state: Cooldown,
  nowMs: number,
  fromMs: number,
  reason: 'cooldown' | 'slow_start',
  jitter: number,
): Admission {
  // A queue of slots that lies too far ahead is folded back: better to ask again than to starve.
  const folded = state.slotAtMs > fromMs + slotWaitMsMax ? fromMs : state.slotAtMs
  const slotAtMs = Math.max(folded, fromMs)
  const delayMs = Math.ceil(slotAtMs - nowMs + jitter * Math.min(state.slotMs, 250))
  const next = { ...state, slotAtMs: slotAtMs + state.slotMs }
  return { kind: 'wait', delayMs: Math.max(delayMs, 50), reason, next }
}

/**
 * The upstream refused a call that began at `openedAtMs`. Calls of an earlier window that come back late
 * may lengthen the cooldown but teach nothing: they were already on their way.
 */
export function refuse(
  state: Cooldown | undefined,
  input: {
    readonly nowMs: number
    readonly openedAtMs: number
    readonly inFlight: number
    readonly retryAfterMs?: number
  },
): Cooldown {
  const { nowMs, openedAtMs, inFlight, retryAfterMs } = input
  const refusals = (state?.refusals ?? 0) + 1
  const untilMs = nowMs + cooldownMs(retryAfterMs, refusals)
  if (state === undefined) {
    const learned = Math.max(1, inFlight)
    const slotMs = slotMsMin * 5
    return { untilMs, granted: 0, parallel: 1, learned, refusals, slotAtMs: untilMs, slotMs }
  }
  if (state.windowMs === undefined || openedAtMs < state.windowMs) {
    return retryAfterMs === undefined || untilMs <= state.untilMs ? state : { ...state, untilMs }
  }
  const learned = Math.max(1, state.granted)
  // The limit as just learned: so many calls between one window's start and the next one's.
  const slotMs = clamp((untilMs - state.windowMs) / learned / 2, slotMsMin, slotMsMax)
  return { untilMs, granted: 0, parallel: 1, learned, refusals, slotAtMs: untilMs, slotMs }
}

function cooldownMs(retryAfterMs: number | undefined, refusals: number): number {
  const ms = retryAfterMs ?? Math.min(defaultCooldownMs * 2 ** (refusals - 1), defaultCooldownMsMax)
  return clamp(ms, 0, cooldownMsMax)
}

/**
 * The upstream took a call (whatever became of it). `undefined`: the limit has not been felt for a
 * while, the state may be forgotten.
 */
export function grant(
  state: Cooldown,
  input: { readonly nowMs: number; readonly openedAtMs: number; readonly concurrencyMax: number },
): Cooldown | undefined {
  const { nowMs, openedAtMs, concurrencyMax } = input
  if (state.windowMs === undefined || openedAtMs < state.windowMs) return state
  if (nowMs - state.windowMs > windowQuietMs || state.parallel >= concurrencyMax) return undefined
  const granted = state.granted + 1
  const taken = { ...state, granted, refusals: 0 }
  if (granted < state.learned) {
    return {
      ...taken,
      parallel: Math.min(state.parallel * 2, state.learned - granted, concurrencyMax),
    }
  }
  if (granted === state.learned) return { ...taken, parallel: 1 }
  // Beyond what was known: ask for more, a little faster each time.
  const slotMs = clamp(state.slotMs * 0.8, slotMsMin, slotMsMax)
  return { ...taken, parallel: state.parallel + 1, slotMs }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
