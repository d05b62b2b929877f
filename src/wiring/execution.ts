import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { defined } from '../domain/defined.ts'
import { newProcessId } from '../domain/ids.ts'
import { createPlaces } from '../domain/gate/places.ts'
import { slotsOf } from '../domain/upstream/channel.ts'
import type { Installation } from './installation.ts'
import type { AttemptStore } from '../store/attempts/attemptStore.ts'
import { createAttemptStore } from '../store/attempts/attemptStore.ts'
import type { BeatStore } from '../store/attempts/beats.ts'
import { createBeatStore } from '../store/attempts/beats.ts'
import { readSyncTask } from '../store/connection/messages.ts'
import type { ReconcileStore } from '../store/reconcile/reconcileStore.ts'
import { createReconcileStore } from '../store/reconcile/reconcileStore.ts'
import type { Beats } from '../tasks/beats.ts'
import { createBeats } from '../tasks/beats.ts'
import type { DirectRuns } from '../tasks/directRuns.ts'
import { createDirectRuns } from '../tasks/directRuns.ts'
import { createLargeRequests } from '../tasks/largeRequests.ts'
import type { SeenOutcome } from '../tasks/takeStep.ts'
import { createProduceImage } from '../tasks/produceImage.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createUpstreamCaller } from '../upstream/callUpstream.ts'
import { createUpstreamConnections } from '../upstream/upstreamConnections.ts'

/** The parts that execute tasks. The activities and the reconciler use them. */
export type Execution = {
  readonly attempts: AttemptStore
  readonly produceImage: ReturnType<typeof createProduceImage>
  readonly processId: string
  readonly beatStore: BeatStore
  readonly beats: Beats
  readonly reconcileStore: ReconcileStore
  readonly direct: DirectRuns
  /** Begins to hear of synchronous tasks, and to take them. */
  readonly listen: () => void
  readonly close: () => Promise<void>
}

/** Creates the parts that execute tasks. Called once in each worker process. */
export function createExecution(
  config: Config,
  parts: {
    readonly installation: Installation
    readonly log: Logger
    readonly metrics: Metrics
    readonly stopping: AbortSignal
  },
): Execution {
  const { sessionUrl, pool, blobs, operatorSettings, tempDir, announceEnd, messages } =
    parts.installation
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
  const beatStore = createBeatStore({ processId, sessionUrl, pool })
  const beats = createBeats({
    store: beatStore,
    onError: (error) => parts.log.warn('beat not recorded', { error }),
  })
  const onOutcome = (seen: SeenOutcome) => reportOutcome(seen, parts.log, parts.metrics)
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
    stopping: parts.stopping,
    onResult: parts.metrics.offer,
    onUnexpected: (taskId, error) => parts.log.error('task failed unexpectedly', { taskId, error }),
  })
  return {
    attempts,
    produceImage,
    processId,
    beatStore,
    beats,
    reconcileStore,
    direct,
    listen: () =>
      messages.hear((text) => {
        const task = readSyncTask(text)
        if (task !== undefined) direct.take(task)
      }),
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
