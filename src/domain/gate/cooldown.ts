import { cooldownMsMax } from '../limits.ts'

/**
 * Manners towards one model of one channel after it refused (design 1.8). All workers share this state
 * through PostgreSQL; all times are epoch milliseconds of its clock.
 *
 * After a refusal nothing is sent before `untilMs`. Then a window begins: one probe goes first, and each
 * call taken doubles the calls that may ask at once until as many were taken as the window before gave
 * (`learned`); from there on one more at a time, as TCP probes beyond its slow-start threshold. A refusal
 * ends the window. Tasks that must wait are given slots `slotMs` apart, so that a backlog neither
 * stampedes when the cooldown ends nor asks in vain.
 *
 * Upstreams refuse at once and draw for minutes. So a call counts as taken once it was not refused for
 * `takenAfterMs`; to wait for its end would hold the others back for a whole call each time.
 */
export type Cooldown = {
  readonly untilMs: number
  /** Start of the present window: when the probe went. Absent while cooling. */
  readonly windowAtMs?: number
  /** Calls of this window that ended without a refusal. */
  readonly granted: number
  /** Calls taken in the last full window: the slow-start threshold. */
  readonly learned: number
  /** Refusals in a row without a grant between: doubles the cooldown where the upstream names none. */
  readonly refusals: number
  /** The next slot to be handed out. */
  readonly slotAtMs: number
  readonly slotMs: number
}

/** Open calls of the present window, on this channel and model. */
export type WindowCalls = {
  /** Too young to tell whether they are taken. */
  readonly asking: number
  /** Open for longer than `takenAfterMs`. */
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

/** Without Retry-After: this, doubled for each refusal that follows without a grant between. */
const defaultCooldownMs = 1_000
const defaultCooldownMsMax = 30_000
const patienceMsMax = 15_000
/** Refusals in a row whose Retry-After is taken to the second. */
const believedRefusals = 3
const slotMsMin = 10
const slotMsMax = 10_000
/** Nobody is told to come back later than this for want of a slot: estimates may be wrong. */
const slotWaitMsMax = 60_000
/** Without a refusal for this long: the limit is gone. */
export const quietMs = 60_000

/** Nothing was refused since the cooldown ended or the window began, for long: the state says nothing more. */
export function isPast({ untilMs, windowAtMs = untilMs }: Cooldown, nowMs: number): boolean {
  return nowMs - Math.max(untilMs, windowAtMs) > quietMs
}

/** May a call go now? `jitter`: a number in [0, 1). */
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

/** How many calls may ask at once: 1, 2, 4, … towards what is known, then 1, 2, 3, … beyond it. */
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
  known: Cooldown | undefined,
  input: {
    readonly nowMs: number
    readonly openedAtMs: number
    /** Open attempts on this channel and model, of whatever window, with the refused one. */
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
    const toldMs = retryAfterMs === undefined ? 0 : nowMs + cooldownMs(retryAfterMs, 1)
    return toldMs <= state.untilMs ? state : { ...state, untilMs: toldMs }
  }
  const took = state.granted + open.taken
  // A refused probe only says that it was too early.
  const learned = took === 0 ? state.learned : took
  // The limit as just learned: so many calls between one window's start and the next one's. Only where
  // more were waiting: else the window gave what was asked of it, and says nothing of what it could give.
  const limitMs = clamp((untilMs - state.windowAtMs) / learned / 2, slotMsMin, slotMsMax)
  const slotMs = state.slotAtMs > nowMs ? limitMs : state.slotMs
  return { untilMs, granted: 0, learned, refusals, slotAtMs: untilMs, slotMs }
}

function cooldownMs(retryAfterMs: number | undefined, refusals: number): number {
  const unnamedMs = defaultCooldownMs * 2 ** (refusals - 1)
  if (retryAfterMs === undefined) return Math.min(unnamedMs, defaultCooldownMsMax)
  // Who limits calls in flight names a time that knows nothing of how long ours will take.
  const early = refusals - believedRefusals
  const patienceMs = early <= 0 ? 0 : defaultCooldownMs * 1.5 ** early
  return clamp(retryAfterMs, Math.min(patienceMs, patienceMsMax), cooldownMsMax)
}

/**
 * A call ended without a refusal (whatever became of it). `undefined`: the limit has not been felt for a
 * while, the state may be forgotten.
 */
export function grant(
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
  // Beyond what was known: ask for more, a little faster each time.
  return { ...next, slotMs: clamp(state.slotMs * 0.8, slotMsMin, slotMsMax) }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
