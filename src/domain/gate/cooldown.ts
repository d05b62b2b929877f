import { cooldownMsMax } from '../limits.ts'

/**
 * How one model of one channel is called after it refused. All workers share this state through
 * PostgreSQL. Instants are epoch milliseconds of PostgreSQL's clock.
 *
 * After a refusal no call starts before `untilMs`. Then a window begins with one call, the probe. Each call
 * that the upstream takes doubles the number of calls that may be undecided at the same time, up to as many
 * taken calls as in the window before (`learned`). Beyond that the number grows by one, like TCP's
 * congestion window beyond its slow-start threshold (RFC 5681 section 3.1). A refusal ends the window.
 *
 * Tasks that must wait get time slots `slotMs` apart. So a backlog does not call all at once when the
 * cooldown ends, and does not ask the gate more often than needed.
 *
 * Upstreams refuse at once but take minutes to draw. A call therefore counts as taken when it was not
 * refused for `takenAfterMs`; waiting for its end would delay all others by a whole call each time.
 */
export type Cooldown = {
  readonly untilMs: number
  /** When the current window began with its probe. Absent until then. */
  readonly windowAtMs?: number
  /** Calls of this window that have ended without a refusal. */
  readonly granted: number
  /** The slow-start threshold: calls taken in the last window, at first the calls in flight when it refused. */
  readonly learned: number
  /** Refusals in a row. Each doubles the next cooldown if the upstream names no time. */
  readonly refusals: number
  /** The next free time slot. */
  readonly slotAtMs: number
  readonly slotMs: number
}

/** Open calls of the current window, on this channel and model. */
export type WindowCalls = {
  /** Younger than `takenAfterMs`: not known yet whether the upstream takes them. */
  readonly asking: number
  /** Open for longer than `takenAfterMs`: they count as taken. */
  readonly taken: number
}

export const takenAfterMs = 1_500

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
/** The longest wait for a time slot beyond the cooldown. The distance of slots is an estimate. */
const slotWaitMsMax = 60_000

/** After this time without a refusal the state is out of date. */
export const quietMs = 60_000

/** Whether the state is out of date: nothing was refused for long after the cooldown or the window began. */
export function isPast({ untilMs, windowAtMs = untilMs }: Cooldown, nowMs: number): boolean {
  return nowMs - Math.max(untilMs, windowAtMs) > quietMs
}

/**
 * Whether a call may start now, and the state to save in both cases. `jitter` is a random number in
 * [0, 1).
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

/** How many calls may be undecided at once: 1, 2, 4, … up to the threshold, then 1, 2, 3, … beyond it. */
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
  // Slots too far ahead start again from the beginning: asking once too often is better than starving.
  const nextSlotAtMs = state.slotAtMs > fromMs + slotWaitMsMax ? fromMs : state.slotAtMs
  const slotAtMs = Math.max(nextSlotAtMs, fromMs)
  const delayMs = Math.ceil(slotAtMs - nowMs + jitter * Math.min(state.slotMs, 250))
  const next = { ...state, slotAtMs: slotAtMs + state.slotMs }
  return { kind: 'wait', delayMs: Math.max(delayMs, 50), reason, next }
}

/**
 * The state after a refusal of a call that started at `openedAtMs`. A late refusal, of a call from before
 * this window, can lengthen the cooldown and changes nothing else: that call says nothing about the window.
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
  if (state === undefined) {
    const learned = Math.max(1, inFlight)
    const slotMs = slotMsMin * 5
    return { untilMs, granted: 0, learned, refusals, slotAtMs: untilMs, slotMs }
  }
  if (state.windowAtMs === undefined || openedAtMs < state.windowAtMs) {
    const laterMs = retryAfterMs === undefined ? 0 : nowMs + cooldownMs(retryAfterMs, 1)
    return laterMs <= state.untilMs ? state : { ...state, untilMs: laterMs }
  }
  const took = state.granted + open.taken
  // If the probe was refused, the cooldown was only too short.
  const learned = took === 0 ? state.learned : took
  // The upstream took `learned` calls between the start of this window and that of the next one. That is
  // its limit only if more tasks were waiting; otherwise it could have taken more.
  const limitMs = clamp((untilMs - state.windowAtMs) / learned / 2, slotMsMin, slotMsMax)
  const slotMs = state.slotAtMs > nowMs ? limitMs : state.slotMs
  return { untilMs, granted: 0, learned, refusals, slotAtMs: untilMs, slotMs }
}

/** Without Retry-After, doubled for each refusal in a row. */
const defaultCooldownMs = 1_000
const defaultCooldownMsMax = 30_000
/** Refusals in a row for which Retry-After is followed exactly. */
const trustedRefusals = 3
const longerCooldownMsMax = 15_000

function cooldownMs(retryAfterMs: number | undefined, refusals: number): number {
  const unnamedMs = defaultCooldownMs * 2 ** (refusals - 1)
  if (retryAfterMs === undefined) return Math.min(unnamedMs, defaultCooldownMsMax)
  // An upstream that limits calls in flight names a time without knowing how long our calls take. If its
  // times prove too short again and again, the cooldown grows beyond them.
  const tooShort = refusals - trustedRefusals
  const longerMs = tooShort <= 0 ? 0 : defaultCooldownMs * 1.5 ** tooShort
  return clamp(retryAfterMs, Math.min(longerMs, longerCooldownMsMax), cooldownMsMax)
}

/**
 * The state after a call that ended without a refusal, with any other outcome. `undefined`: the limit no
 * longer applies, so the state is to be deleted.
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
  // Beyond the threshold, the slots come a little closer with each call.
  return { ...next, slotMs: clamp(state.slotMs * 0.8, slotMsMin, slotMsMax) }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
