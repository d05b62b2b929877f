import type { Pool } from 'pg'
import { assertNever } from '../domain/assertNever.ts'
import { beatTimeoutMs } from '../domain/limits.ts'
import type { Offer } from '../domain/tasks/offer.ts'
import { beat, leave, markLost } from '../store/attempts/workerProcesses.ts'
import { messagesOf } from '../store/connection/notifier.ts'
import { createSession } from '../store/connection/session.ts'
import { offerChannel, readOffer } from '../store/tasks/offers.ts'
import type { Presence, PresenceEvent } from '../tasks/presence.ts'
import { createPresence } from '../tasks/presence.ts'
import type { Logger } from '../telemetry/logger.ts'

type PresenceParts = {
  readonly processId: string
  readonly databaseUrl: string
  readonly pool: Pool
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
      // Every worker closes its own attempts, so none is an orphan.
      beat: async (sent) => ({
        ...(await session.run((client) => beat(client, sent))),
        orphans: [],
      }),
      markLost: (silent) => markLost(pool, silent),
      leave: (id) => leave(pool, id),
    },
    closeOrphan: async () => {},
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
