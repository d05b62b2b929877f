import { createActivities } from '../../activities/createActivities.ts'
import { openApp } from './app.ts'
import type { Config } from '../config/environment.ts'
import {
  channelsFor,
  isLeftToOthers,
  longestTimeoutMs,
  slotsOf,
} from '../domain/upstream/channel.ts'
import { createExecution } from './execution.ts'
import { createInternalServer } from '../http/server/internalServer.ts'
import { explaining } from './explaining.ts'
import { createReadiness, withPart } from './readiness.ts'
import type { RunningProcess } from './runProcess.ts'
import { ensureChannels } from '../store/channels/channelAdmin.ts'
import { readSafetySecret } from '../store/installation.ts'
import { readAnnounced } from '../store/connection/messages.ts'
import type { Logger } from '../telemetry/logger.ts'
import { otherOpenFiles, warnOfOpenFiles } from '../telemetry/openFiles.ts'
import type { RunningWorker } from '../temporal/worker/createWorker.ts'
import { startWorker as startTemporalWorker } from '../temporal/worker/createWorker.ts'
import { installRuntime } from '../temporal/worker/runtime.ts'
import { workflowBundle } from '../temporal/worker/workflowBundle.ts'
import { createWorkerWebhooks } from './webhookParts.ts'

/** Time for a stopping worker to store and settle an answer after the answer's last byte has arrived. */
const settleGraceMs = 30_000
/** How much longer than the longest call the stop of a failed worker may take. */
const failedStopGraceMs = 60_000

/**
 * Starts one worker process. It carries out tasks (`execution.ts`), by Temporal's activities and by messages of
 * synchronous tasks; it reconciles, and delivers webhooks.
 */
export async function startWorker(config: Config, log: Logger): Promise<RunningProcess> {
  const app = await openApp(config, log, { process: 'worker' })
  const { operatorSettings, pool, messages, metrics } = app
  const { channels } = operatorSettings
  const channelNames = channels.map(({ name }) => name)
  await ensureChannels(pool, channelNames)
  installRuntime(
    (level, event, run) => log[level](`temporal: ${event}`, run),
    config.temporalMetricsAddress,
  )
  const webhooks = await createWorkerWebhooks(app)
  const announceEnd = (taskId: string) => {
    app.announceEnd(taskId)
    webhooks.wake()
  }
  const stopping = new AbortController()
  const safetySecret = await readSafetySecret(pool)
  const execution = createExecution({ ...app, safetySecret }, announceEnd, stopping.signal)
  const { direct, reconciler, beats } = execution
  const look = createReadiness(app)
  let worker: RunningWorker | undefined
  // Open this port before the worker takes a task. If the port is in use, the process ends, and is usually started
  // again, many times. If it took a task before it ended, each of these starts could lose a call that is paid for.
  const { internalHost: host, workerInternalPort: port } = config
  const readiness = async () => {
    const state = worker === undefined ? 'starting' : stopping.signal.aborted ? 'stopping' : 'ok'
    const { ready, parts } = withPart(await look(), 'process', state)
    const polling = worker?.isRunning() === true ? 'ok' : 'stopped'
    return { ready, parts: { ...parts, polling } }
  }
  const internal = await createInternalServer({ host, port, metrics, readiness }).catch(
    explaining(`INTERNAL_HOST ${host}, WORKER_INTERNAL_PORT ${port}`),
  )
  const bundle = await workflowBundle()
  // The beats begin before the first call, because other workers count a call of a process without beats as lost.
  // From here on calls may be under way, so nothing below may be slow: when a signal to stop arrives before this
  // function has returned, `runProcess.ts` waits at most ten seconds for it and then exits, in the middle of a call.
  await beats.start()
  messages.hear((text) => {
    const task = readAnnounced(text)
    if (task !== undefined && !isLeftToOthers(task.model, channelsFor(channels, task))) {
      direct.take(task)
    }
  })
  // The reconciler works without Temporal too: it ends tasks and releases their holds. `startTemporalWorker`
  // below does not wait for Temporal either: it connects in the background.
  reconciler.start()
  webhooks.start()
  const { cancelTask } = execution.attempts
  const running = startTemporalWorker({
    settings: app.temporalSettings,
    storeId: app.storeId,
    activities: createActivities({ ...execution, log, cancelTask, stopping: stopping.signal }),
    bundle,
    slots: slotsOf(channels),
    shutdownGraceMs: longestTimeoutMs(channels) + settleGraceMs,
    onUnreachable: (error) => log.warn('Temporal is away: images are made without it', { error }),
  })
  worker = running
  // A call may hold three open files: its connection, the temporary file of a large answer, and a file or a connection
  // of the blob store.
  const calls = channels.reduce((sum, { concurrencyMax }) => sum + concurrencyMax, 0)
  warnOfOpenFiles(log, 3 * calls + otherOpenFiles)
  log.info('worker ready', { port: internal.port })
  return {
    ended: running.done,
    failedStopMsMax: longestTimeoutMs(channels) + failedStopGraceMs,
    stop: async () => {
      // From now on no call begins: `direct` takes no task, and `produceImage` returns before its next call.
      stopping.abort()
      // Wait for every part, even if Temporal's part fails, because other calls may still be under way.
      const parts = [running.stop(), reconciler.stop(), direct.idle()]
      const stopped = await Promise.allSettled(parts)
      // After the last call: other processes would count a call of a process without beats as lost.
      await beats.stop()
      // After the last end, which may be the event of a webhook.
      await webhooks.stop()
      // Until here the metrics and the state of the stop can be read.
      await internal.close()
      await execution.close()
      await app.close()
      for (const part of stopped) if (part.status === 'rejected') throw part.reason
    },
  }
}
