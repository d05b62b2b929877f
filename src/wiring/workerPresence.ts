import type { Pool } from 'pg'
import { assertNever } from '../domain/assertNever.ts'
import { beatTimeoutMs } from '../domain/limits.ts'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { Offer } from '../domain/tasks/offer.ts'
import type { OrphanedAttempt } from '../domain/ports/presenceStore.ts'
import { beat, leave, markLost } from '../store/attempts/workerProcesses.ts'
import { messagesOf } from '../store/connection/notifier.ts'
import { createSession } from '../store/connection/session.ts'
import { makeChecksDue } from '../store/reconcile/checkSchedule.ts'
import { offerChannel, readOffer } from '../store/tasks/offers.ts'
import type { Presence, PresenceEvent } from '../tasks/presence.ts'
import { createPresence } from '../tasks/presence.ts'
import { settleAnswer } from '../tasks/settleOrFail.ts'
import type { Logger } from '../telemetry/logger.ts'

type PresenceParts = {
  readonly processId: string
  readonly databaseUrl: string
  readonly pool: Pool
  readonly attempts: AttemptStore
  readonly blobs: BlobStore
  readonly log: Logger
  /** Called with each offer to this process. */
  readonly onOffer: (offer: Offer) => void
}

/**
 * Creates the presence of a worker process, on a database connection of its own. The process hears its offers
 * on the same connection. So a process that can hear no offers sends no beats either, and is offered no tasks.
 */
export function createWorkerPresence(parts: PresenceParts): Presence {
  const { processId, databaseUrl, pool, log, onOffer } = parts
  const session = createSession({
    databaseUrl,
    applicationName: 'darkroom-presence',
    timeoutMs: beatTimeoutMs,
    prepare: async (client) => {
      // A lost beat does no harm, so a beat does not wait for the disk.
      await client.query('set synchronous_commit = off')
      client.on('notification', ({ payload = '' }) => {
        for (const text of messagesOf(payload)) {
          const offer = readOffer(text)
          if (offer !== undefined) onOffer(offer)
        }
      })
      await client.query(`listen "${offerChannel(processId)}"`)
    },
  })
  const presence = createPresence({
    processId,
    store: {
      beat: (sent) => session.run((client) => beat(client, sent)),
      markLost: (silent) => markLost(pool, silent),
      leave: (id) => leave(pool, id),
    },
    closeOrphan: (orphan) => closeOrphan(parts, orphan),
    onEvent: (event) => logEvent(log, event),
  })
  return {
    ...presence,
    stop: async () => {
      await presence.stop()
      await session.close()
    },
  }
}

/**
 * Closes an open attempt that this process no longer works on. If its call was surely not made, closes it as not
 * called. If an answer is stored, settles the task. Otherwise records an unknown outcome. A task that is live
 * afterwards becomes due for a check, so that it goes on at once.
 */
async function closeOrphan(
  { pool, attempts, blobs }: PresenceParts,
  { taskId, n, answerId, called }: OrphanedAttempt & { readonly called: boolean },
): Promise<void> {
  if (!called) {
    await attempts.abandonAttempt({ taskId, answerId })
  } else if (!(await settleAnswer({ attempts, blobs }, answerId))) {
    const evidence = { reason: 'worker_lost' } as const
    await attempts.closeAttempt({ taskId, n, class: 'unknown', evidence })
  }
  await makeChecksDue(pool, [taskId])
}

function logEvent(log: Logger, event: PresenceEvent): void {
  switch (event.kind) {
    case 'beat_failed':
      return log.warn('presence not recorded', { error: event.error })
    case 'process_lost':
      return log.warn('a worker process is lost', { workerId: event.processId })
    case 'orphan_closed':
      return log.warn('an abandoned attempt is closed', {
        taskId: event.taskId,
        attempt: event.attempt,
      })
    case 'orphan_kept':
      return log.warn('an abandoned attempt is not closed yet', {
        taskId: event.taskId,
        error: event.error,
      })
    default:
      return assertNever(event)
  }
}
