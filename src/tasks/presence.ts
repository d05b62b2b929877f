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
  /** Whether the last successful beat of this process is recent enough to begin a call. */
  readonly isPresent: () => boolean
  /**
   * Runs the work on one attempt. The work asks the gate, makes the call and closes the attempt. This process holds
   * the attempt while the work runs. The answer id names the attempt, because the gate gives the attempt its number
   * only with its answer. The work calls `calling` right before it begins the upstream call.
   */
  readonly during: <Value>(
    answerId: string,
    work: (calling: () => void) => Promise<Value>,
  ) => Promise<Value>
  /** Sends a beat that says that this process takes no more offers. */
  readonly stopAccepting: () => Promise<void>
  /**
   * Stops the beats and deletes the row of this process. The row stays if the process still has an open attempt. Call
   * this when all calls have ended.
   */
  readonly stop: () => Promise<void>
}

type PresenceDeps = {
  readonly store: PresenceStore
  readonly processId: string
  /**
   * Closes an orphaned attempt: an open attempt of this process that no work holds (see `during`). `called` is false
   * if it is certain that this process has sent nothing of the call.
   */
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
 * This process asks the gate for a call only while its last successful beat is younger than this. Other processes
 * doubt this one when it has been silent for longer (`silentMs`, 10 seconds). So the gate records the attempt before
 * another process can count this one as lost.
 */
const freshMsMax = 8_000
/**
 * When more time than this passes between two beats of this process, the process drops its doubts and starts to
 * measure again. What delayed its own beats may have delayed the beats of the other processes too.
 */
const gapMsMax = 3_000
/**
 * How far a beat looks back for orphaned attempts: open attempts of this process that no work holds. Most beats look
 * for attempts that were opened in the last minute. Every thirtieth beat looks back a whole week.
 */
const lookSeconds = 60
const fullLookEvery = 30
const weekSeconds = 7 * 86_400
/** How many orphaned attempts are closed at the same time. A slow blob store can take seconds for each. */
const closingMax = 4
/** Limit for the attempts that this process remembers as surely not called. */
const notCalledMax = 10_000

/**
 * Creates the presence of this process. Its beats tell the other processes that its calls are under way: a task may
 * reach another worker during a call, because an operator resets the run or because Temporal loses contact with this
 * worker. The other worker then waits for the call and does not make it again.
 *
 * With each beat the process also looks for silent processes and for attempts of its own that no work holds. It
 * begins to doubt another process that has sent no beat for 10 seconds (`silentMs`). It marks that process as lost
 * when the silence goes on for 6 more seconds (`doubtMs`), so about 16 seconds after the last beat. Both times are in
 * `src/domain/limits.ts`.
 *
 * PostgreSQL's clock measures the silence. The monotonic clock of this process measures the doubt. While PostgreSQL
 * does not answer, no process can send a beat, so processes that live are silent too. Therefore this process measures
 * every doubt from zero after such a gap between its own beats (`gapMsMax`).
 *
 * The process closes its own open attempts that no work holds. Such an attempt remains, for example, when the gate's
 * answer was lost.
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
      // Marking and closing go on while later beats are sent, because both can take long. Neither waits for the
      // other: a slow blob store, which delays the closing, must not delay the moment when the tasks of a lost
      // process are taken up again.
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
    // The work on this attempt may have begun while the beat that reported the attempt was on its way.
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

/**
 * Remembers an attempt that was surely not called. Beyond the limit the oldest attempt is forgotten. A forgotten
 * attempt counts as called, so its outcome counts as unknown, which is the safe side.
 */
function remember(notCalled: Set<string>, answerId: string): void {
  const [oldest] = notCalled
  if (notCalled.size >= notCalledMax && oldest !== undefined) notCalled.delete(oldest)
  notCalled.add(answerId)
}

type Doubts = {
  /** Takes the silent processes that one beat found. Returns those that have been in doubt for `doubtMs`. */
  readonly seen: (silent: readonly SilentProcess[], nowMs: number) => readonly SilentProcess[]
}

function createDoubts(): Doubts {
  let sinceMs = new Map<string, number>()
  let lastMs: number | undefined
  return {
    seen: (silent, nowMs) => {
      const earlier = lastMs !== undefined && nowMs - lastMs <= gapMsMax ? sinceMs : undefined
      lastMs = nowMs
      // The name contains the time of the process's last beat. So a new beat of the process changes the name, and
      // ends the doubt.
      const named = silent.map((each) => ({ each, name: `${each.processId} ${each.seenAt}` }))
      sinceMs = new Map(named.map(({ name }) => [name, earlier?.get(name) ?? nowMs]))
      return named
        .filter(({ name }) => nowMs - (sinceMs.get(name) ?? nowMs) >= doubtMs)
        .map(({ each }) => each)
    },
  }
}
