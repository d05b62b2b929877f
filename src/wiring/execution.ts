import { tmpdir } from 'node:os'
import type { App } from './app.ts'
import { newProcessId } from '../domain/ids.ts'
import { createLargeRequests } from '../tasks/produce/largeRequests.ts'
import { createPlaces } from '../tasks/produce/places.ts'
import { slotsOf } from '../domain/upstream/channel.ts'
import { createAttemptStore } from '../store/attempts/attemptStore.ts'
import type { EndedRow } from '../store/tasks/afterEnd.ts'
import { createBeatStore } from '../store/attempts/beatStore.ts'
import { createBeats } from '../tasks/produce/beats.ts'
import { createDirectRuns } from '../tasks/produce/directRuns.ts'
import { createProduceImage } from '../tasks/produce/produceImage.ts'
import { createCheckStep } from '../tasks/reconcile/checkStep.ts'
import { createLineStep } from '../tasks/reconcile/lineStep.ts'
import { createLoseStep } from '../tasks/reconcile/loseStep.ts'
import { createReconciler } from '../tasks/reconcile/reconciler.ts'
import { createStartStep } from '../tasks/reconcile/startStep.ts'
import { createSweepSteps } from '../tasks/reconcile/sweepSteps.ts'
import { createVendorCodes } from '../tasks/produce/vendorCodes.ts'
import { reportRun } from '../temporal/runs.ts'
import { createUpstreamCaller } from '../upstream/callUpstream.ts'
import { createUpstreamConnections } from '../upstream/upstreamConnections.ts'

/**
 * Creates the parts of a worker that carry out tasks: for the activities, for the synchronous tasks that messages
 * announce, and for the reconciler. They call `announceEnd` with every task that they end. `stopping` aborts when no new
 * call may begin.
 */
export function createExecution(
  app: App & { readonly safetySecret: string },
  announceEnd: App['announceEnd'],
  stopping: AbortSignal,
) {
  const { config, log, pool, temporal, operatorSettings } = app
  const { channels, models } = operatorSettings
  const random = Math.random
  const processId = newProcessId()
  const dispatcher = createUpstreamConnections()
  const onEnd = ({ taskId, model, refunded }: EndedRow) => {
    announceEnd(taskId)
    if (refunded === 0) return
    app.metrics.refund(model, refunded)
    log.info('image smaller than asked: credits refunded', { taskId })
  }
  const attempts = createAttemptStore({
    ...config,
    pool,
    onEnd,
    random,
    channels,
  })
  const beats = createBeats(createBeatStore({ processId, sessionUrl: app.sessionUrl }), log)
  const produceImage = createProduceImage({
    ...app,
    attempts,
    announceTask: app.messages.announceTask,
    processId,
    channels,
    beats,
    callUpstream: createUpstreamCaller({ ...app, models, tempDir: tmpdir(), dispatcher }),
    places: createPlaces(random),
    largeRequests: createLargeRequests(),
    vendorCodes: createVendorCodes(app),
    callsMax: config.upstreamCallsMax,
    random,
  })
  const direct = createDirectRuns({ ...app, produceImage, slots: slotsOf(channels), stopping })
  const report = (taskId: string) => reportRun(temporal, taskId)
  const reconciler = createReconciler(app, [
    createLoseStep({ pool, attempts, processId }),
    createLineStep({ pool, beats, direct }),
    createStartStep({ ...app, direct }),
    createCheckStep({ ...app, attempts, produceImage, reportRun: report, direct }),
    ...createSweepSteps(app),
  ])
  return {
    attempts,
    produceImage,
    beats,
    direct,
    reconciler,
    /** Closes the connections to upstreams. */
    close: () => dispatcher.close(),
  }
}
