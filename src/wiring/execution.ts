import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { defined } from '../domain/defined.ts'
import { createPlaces } from '../domain/gate/places.ts'
import { newProcessId } from '../domain/ids.ts'
import type { OnAccepted } from '../domain/ports/taskStore.ts'
import { slotsOf } from '../domain/upstream/channel.ts'
import type { Installation } from './installation.ts'
import { createWorkerPresence } from './workerPresence.ts'
import type { AttemptStore } from '../store/attempts/attemptStore.ts'
import { createAttemptStore } from '../store/attempts/attemptStore.ts'
import { makeStartDue } from '../store/tasks/offers.ts'
import { createLargeRequests } from '../tasks/largeRequests.ts'
import type { SeenOutcome } from '../tasks/makeCall.ts'
import type { Presence } from '../tasks/presence.ts'
import { createProduceImage } from '../tasks/produceImage.ts'
import type { OfferTaker } from '../tasks/takeOffers.ts'
import { createOfferTaker } from '../tasks/takeOffers.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createUpstreamCaller } from '../upstream/callUpstream.ts'
import { createUpstreamConnections } from '../upstream/upstreamConnections.ts'

/** The parts that execute tasks. The activities and the reconciler use them. */
export type Execution = {
  readonly attempts: AttemptStore
  readonly produceImage: ReturnType<typeof createProduceImage>
  readonly presence: Presence
  readonly offers: OfferTaker
  readonly close: () => Promise<void>
}

/** Creates the parts that execute tasks. Called once in each worker process. */
export function createExecution(
  config: Config,
  parts: {
    readonly installation: Installation
    readonly log: Logger
    readonly metrics: Metrics
    /** Starts the workflow of a task that was offered to this process. */
    readonly startRun: OnAccepted
    readonly stopping: AbortSignal
  },
): Execution {
  const { sessionUrl, pool, blobs, operatorSettings, tempDir, announceEnd } = parts.installation
  const processId = newProcessId(randomBytes)
  const agent = createUpstreamConnections()
  const attempts = createAttemptStore({
    pool,
    announceEnd,
    random: Math.random,
    channels: operatorSettings.channels,
    retentionSeconds: config.retentionSeconds,
    tombstoneSeconds: config.tombstoneSeconds,
    inputRetentionSeconds: config.inputRetentionSeconds,
  })
  const callUpstream = createUpstreamCaller({
    blobs,
    capabilities: operatorSettings.capabilities,
    tempDir: join(tempDir, 'answers'),
    dispatcher: agent,
  })
  const presence = createWorkerPresence({
    processId,
    databaseUrl: sessionUrl,
    pool,
    log: parts.log,
    onOffer: (offer) => offers.take(offer),
  })
  const onOutcome = (seen: SeenOutcome) => reportOutcome(seen, parts.log, parts.metrics)
  const produceImage = createProduceImage({
    attempts,
    blobs,
    presence: { processId, mayCall: presence.isPresent },
    callUpstream,
    onOutcome,
    places: createPlaces(Math.random),
    enterRequest: createLargeRequests(),
    callsMax: config.upstreamCallsMax,
    random: Math.random,
  })
  const offers = createOfferTaker({
    produceImage,
    continueAsRun: async (taskId) => {
      const start = await makeStartDue(pool, taskId)
      if (start !== undefined) parts.startRun(start)
    },
    slots: slotsOf(operatorSettings.channels),
    stopping: parts.stopping,
    onResult: parts.metrics.offer,
    onUnexpected: (taskId, error) =>
      parts.log.error('offer failed unexpectedly', { taskId, error }),
  })
  return {
    attempts,
    produceImage,
    presence,
    offers,
    close: () => agent.close(),
  }
}

function reportOutcome(
  { taskId, attempt, channel, outcome }: SeenOutcome,
  log: Logger,
  metrics: Metrics,
): void {
  const { reason, httpStatus, upstreamRequestId, latencyMs } = outcome.evidence
  metrics.upstreamCall({ channel, class: outcome.class, reason, latencyMs })
  log.info('upstream call', {
    taskId,
    attempt,
    channel,
    class: outcome.class,
    reason,
    ...defined({
      httpStatus,
      upstreamRequestId,
      durationMs: latencyMs === undefined ? undefined : Math.round(latencyMs),
    }),
  })
}
