import { setTimeout as sleep } from 'node:timers/promises'
import { beatEveryMs, beatFreshMs } from '../../domain/limits.ts'
import type { BeatStore } from '../../store/attempts/beatStore.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Instant } from '../timeLimits.ts'
import { elapsedMs, readClocks, retryFor } from '../timeLimits.ts'

/** How long the first beat is tried. On a busy machine a connection may take longer than the limit of one beat. */
const firstBeatMsMax = 15_000

export type Beats = ReturnType<typeof createBeats>

/**
 * Creates the beats of a process that makes upstream calls. A task may reach another worker during a call, because an
 * operator resets its run or because Temporal loses contact with this worker. By the beats the other worker knows that
 * the call is under way, and does not make it again.
 */
export function createBeats(store: BeatStore, { warn }: Pick<Logger, 'warn'>) {
  const onError = (error: unknown) => warn('beat not recorded', { error })
  const stopping = new AbortController()
  let last: Instant | undefined
  let loop = Promise.resolve()

  async function beat(): Promise<void> {
    // The time before the statement: PostgreSQL records a later one, so this process is the first that doubts itself.
    const sentAt = readClocks()
    await store.beat()
    last = sentAt
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(beatEveryMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted) await beat().catch(onError)
    }
  }

  return {
    /** Sends the first beat, then one every second. Rejects when the first one fails again and again. */
    start: async (): Promise<void> => {
      await retryFor(firstBeatMsMax, beat)
      loop = run()
    },
    /** Whether this process may begin a call: its last beat is younger than `beatFreshMs`. */
    mayCall: () => last !== undefined && elapsedMs(last) < beatFreshMs,
    /** Ends the beats and says that this process makes no more calls. Call this when all calls have ended. */
    stop: async (): Promise<void> => {
      stopping.abort()
      await loop
      await store.leave().catch(onError)
      await store.close()
    },
  }
}
