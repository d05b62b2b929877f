import { setTimeout as sleep } from 'node:timers/promises'
import { beatEveryMs, doubtMs } from '../domain/limits.ts'
import type {
  BeatResult,
  OrphanedAttempt,
  PresenceStore,
  SilentProcess,
} from '../domain/ports/presenceStore.ts'
import type { Instant } from './timeLimits.ts'
import { inParallel } from './reconcile/inParallel.ts'
import { elapsedMs, readClocks } from './timeLimits.ts'

export type Presence = {
  /** Sends the first beat and begins to send one every second. Rejects when the first beat fails. */
  readonly start: () => Promise<void>
  /** Whether the last beat is recent enough for a new call. */
  readonly isPresent: () => boolean
  /**
   * Runs the work on one attempt, from before the question to the gate until the attempt is closed. The
   * attempt is named by its answer id, because its number is not known before the gate answers. The work calls
   * `calling` before a byte of the upstream call may leave.
   */
  readonly during: <Value>(
    answerId: string,
    work: (calling: () => void) => Promise<Value>,
  ) => Promise<Value>
  /** Takes no more offers from now on. */
  readonly stopAccepting: () => Promise<void>
  /** Stops the beats and deletes the row. Call it when all calls have ended. */
  readonly stop: () => Promise<void>
}

type PresenceDeps = {
  readonly store: PresenceStore
  readonly processId: string
  /** Closes an open attempt of this process that no work holds. `called`: a byte of the call may have left. */
  readonly closeOrphan: (orphan: OrphanedAttempt & { readonly called: boolean }) => Promise<void>
  readonly onEvent: (event: PresenceEvent) => void
  readonly everyMs?: number
}

export type PresenceEvent =
  | { readonly kind: 'beat_failed'; readonly error: unknown }
  | { readonly kind: 'process_lost'; readonly processId: string }
  | { readonly kind: 'orphan_closed'; readonly taskId: string; readonly attempt: number }
  | { readonly kind: 'orphan_kept'; readonly taskId: string; readonly error: unknown }

/**
 * Limit for the age of the last beat when a call begins. Shorter than the silence after which other processes
 * doubt this one, so the call is recorded before any of them may act.
 */
const freshMsMax = 8_000
/**
 * After a longer gap between two of its own beats, this process forgets its doubts: what cut it off may have cut off
 * the others too.
 */
const gapMsMax = 3_000
/** How old an orphaned attempt may be that a beat finds. Every thirtieth beat finds those of a whole week. */
const lookSeconds = 60
const fullLookEvery = 30
const weekSeconds = 7 * 86_400
/** How many orphaned attempts are closed at the same time. A slow blob store can take seconds for each. */
const closingMax = 4
/** Limit for the remembered attempts that were surely not called. */
const notCalledMax = 10_000

/**
 * Creates the presence of this process. Its beats tell the other processes that its calls are under way: a
 * task may reach another worker during a call, because an operator resets the run or because Temporal loses
 * contact with this worker. The other worker then waits for the call and does not make it again.
 *
 * With each beat the process also looks for what others left. It doubts processes that are silent, and marks
 * them as lost when they stay silent for `doubtMs`. The time of a doubt is measured by this process's
 * monotonic clock, and only while its own beats succeed: when PostgreSQL was away, every process was silent.
 * It closes its own open attempts that no work holds, for example because the gate's answer was lost.
 */
export function createPresence(deps: PresenceDeps): Presence {
  const { store, processId, onEvent, everyMs = beatEveryMs } = deps
  const held = new Set<string>()
  const notCalled = new Set<string>()
  const doubts = createDoubts()
  const stopping = new AbortController()
  let accepting = true
  let beats = 0
  let lastBeat: Instant | undefined
  let loop = Promise.resolve()
  let marking: Promise<void> | undefined
  let closing: Promise<void> | undefined

  async function sendBeat(): Promise<BeatResult> {
    const sentAt = readClocks()
    const lookBackSeconds = beats % fullLookEvery === 0 ? weekSeconds : lookSeconds
    beats += 1
    const heldAnswerIds = [...held]
    const result = await store.beat({ processId, accepting, heldAnswerIds, lookBackSeconds })
    lastBeat = sentAt
    return result
  }

  async function beatOnce(): Promise<void> {
    try {
      const { silent, orphans } = await sendBeat()
      const lost = doubts.seen(silent, performance.now())
      // Both run beside the beats, because they can take long. Neither waits for the other: a slow blob store
      // must not delay the moment when the calls of a lost process are taken up.
      marking ??= markAll(lost).finally(() => {
        marking = undefined
      })
      closing ??= closeAll(orphans).finally(() => {
        closing = undefined
      })
    } catch (error) {
      onEvent({ kind: 'beat_failed', error })
    }
  }

  async function markAll(lost: readonly SilentProcess[]): Promise<void> {
    for (const each of lost) await mark(each)
  }

  function closeAll(orphans: readonly OrphanedAttempt[]): Promise<void> {
    return inParallel(orphans, { parallel: closingMax, signal: stopping.signal }, close)
  }

  async function mark(lost: SilentProcess): Promise<void> {
    try {
      const marked = await store.markLost(lost)
      if (marked) onEvent({ kind: 'process_lost', processId: lost.processId })
    } catch (error) {
      onEvent({ kind: 'beat_failed', error })
    }
  }

  async function close(orphan: OrphanedAttempt): Promise<void> {
    const { taskId, n, answerId } = orphan
    // The beat may have been on its way when the work on this attempt began.
    if (held.has(answerId)) return
    try {
      await deps.closeOrphan({ ...orphan, called: !notCalled.has(answerId) })
      notCalled.delete(answerId)
      onEvent({ kind: 'orphan_closed', taskId, attempt: n })
    } catch (error) {
      onEvent({ kind: 'orphan_kept', taskId, error })
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted) await beatOnce()
    }
  }

  return {
    start: async () => {
      await sendBeat()
      loop = run()
    },
    isPresent: () => lastBeat !== undefined && elapsedMs(lastBeat) < freshMsMax,
    during: async (answerId, work) => {
      let called = false
      held.add(answerId)
      try {
        return await work(() => {
          called = true
        })
      } catch (error) {
        if (!called) remember(notCalled, answerId)
        throw error
      } finally {
        held.delete(answerId)
      }
    },
    stopAccepting: async () => {
      accepting = false
      await sendBeat().catch((error: unknown) => onEvent({ kind: 'beat_failed', error }))
    },
    stop: async () => {
      stopping.abort()
      await loop
      await Promise.all([marking, closing])
      await store
        .leave(processId)
        .catch((error: unknown) => onEvent({ kind: 'beat_failed', error }))
    },
  }
}

/** Remembers an attempt. Beyond the limit the oldest one is forgotten and then counts as called, which is safe. */
function remember(notCalled: Set<string>, answerId: string): void {
  const [oldest] = notCalled
  if (notCalled.size >= notCalledMax && oldest !== undefined) notCalled.delete(oldest)
  notCalled.add(answerId)
}

type Doubts = {
  /** Takes what one beat found. Returns the processes whose doubt has lasted long enough. */
  readonly seen: (silent: readonly SilentProcess[], nowMs: number) => readonly SilentProcess[]
}

function createDoubts(): Doubts {
  let sinceMs = new Map<string, number>()
  let lastMs: number | undefined
  return {
    seen: (silent, nowMs) => {
      const earlier = lastMs !== undefined && nowMs - lastMs <= gapMsMax ? sinceMs : undefined
      lastMs = nowMs
      // The time of the last beat is part of the name, so a beat ends the doubt.
      const named = silent.map((each) => ({ each, name: `${each.processId} ${each.seenAt}` }))
      sinceMs = new Map(named.map(({ name }) => [name, earlier?.get(name) ?? nowMs]))
      return named
        .filter(({ name }) => nowMs - (sinceMs.get(name) ?? nowMs) >= doubtMs)
        .map(({ each }) => each)
    },
  }
}
