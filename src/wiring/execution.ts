import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import type { App } from './app.ts'
import { defined } from '../domain/defined.ts'
import { newProcessId } from '../domain/ids.ts'
import { createPlaces } from '../domain/gate/places.ts'
import { slotsOf } from '../domain/upstream/channel.ts'
import { createAttemptStore } from '../store/attempts/attemptStore.ts'
import { createBeatStore } from '../store/attempts/beats.ts'
import { createReconcileStore } from '../store/reconcile/reconcileStore.ts'
import { createBeats } from '../tasks/beats.ts'
import { createDirectRuns } from '../tasks/directRuns.ts'
import { createLargeRequests } from '../tasks/largeRequests.ts'
import type { SeenOutcome } from '../tasks/takeStep.ts'
import { createProduceImage } from '../tasks/produceImage.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createUpstreamCaller } from '../upstream/callUpstream.ts'
import { createUpstreamConnections } from '../upstream/upstreamConnections.ts'

export type Execution = ReturnType<typeof createExecution>

/**
 * Creates the parts of a worker that execute tasks. The activities, the reconciler, and what hears of synchronous tasks
 * use them. `announceEnd` is called with every task that they end, and `stopping` aborts when no new call may begin.
 */
export function createExecution(app: App, announceEnd: App['announceEnd'], stopping: AbortSignal) {
  const { config, log, metrics, sessionUrl, pool, blobs, operatorSettings } = app
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
    tempDir: tmpdir(),
    dispatcher: agent,
  })
  const beatStore = createBeatStore({ processId, sessionUrl, pool })
  const beats = createBeats({
    store: beatStore,
    onError: (error) => log.warn('beat not recorded', { error }),
  })
  const onOutcome = (seen: SeenOutcome) => reportOutcome(seen, log, metrics)
  const produceImage = createProduceImage({
    attempts,
    blobs,
    processId,
    beats,
    callUpstream,
    onOutcome,
    places: createPlaces(Math.random),
    enterRequest: createLargeRequests(),
    callsMax: config.upstreamCallsMax,
    random: Math.random,
  })
  const reconcileStore = createReconcileStore(pool)
  const direct = createDirectRuns({
    produceImage,
    makeDue: reconcileStore.makeDue,
    slots: slotsOf(operatorSettings.channels),
    stopping,
    onResult: metrics.offer,
    onUnexpected: (taskId, error) => log.error('task failed unexpectedly', { taskId, error }),
  })
  return {
    attempts,
    produceImage,
    processId,
    beatStore,
    beats,
    reconcileStore,
    direct,
    /** Closes the connections to upstreams. */
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
