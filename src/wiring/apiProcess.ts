import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { convertBlob } from '../bytes/convertImage.ts'
import type { Config } from '../config/environment.ts'
import { required } from '../config/environment.ts'
import { engineFileName } from '../config/runtimeFile.ts'
import { waitersMaxDefault } from '../http/clientWaits.ts'
import { observeRequests } from '../http/middleware.ts'
import { createApp } from '../http/apiApp.ts'
import { closeServer, createServer, listen } from '../http/server/server.ts'
import type { ApiDeps } from '../http/apiParts.ts'
import { createInternalServer } from '../http/server/internalServer.ts'
import { explaining } from './explaining.ts'
import type { App } from './app.ts'
import { openApp } from './app.ts'
import { createReadiness, withPart } from './readiness.ts'
import type { RunningProcess } from './runProcess.ts'
import { hasParent } from './runProcess.ts'
import { cancelTask } from '../store/tasks/ends.ts'
import { createTaskWatches } from '../tasks/watchTasks.ts'
import { createAccountReads } from '../store/accountReads.ts'
import { readTaskOfImage } from '../store/tasks/readTask.ts'
import { isUploadKept } from '../store/uploads.ts'
import type { StartRuns } from '../tasks/produce/startRuns.ts'
import { createStartRuns } from '../tasks/produce/startRuns.ts'
import { createTaskService } from '../tasks/taskService.ts'
import { createVariants } from '../tasks/variants.ts'
import type { Logger } from '../telemetry/logger.ts'
import { otherOpenFiles, warnOfOpenFiles } from '../telemetry/openFiles.ts'
import { createReadRunStage } from '../temporal/readRunStage.ts'
import { cancelWorkflow } from '../temporal/runs.ts'
import { createApiWebhooks } from './webhookParts.ts'

/** A stopping process waits this much longer than the longest synchronous call, so that its answer is written. */
const drainExtraMs = 5_000

/** Starts one API process: it serves HTTP, tells workers of synchronous tasks, and starts the workflows of all others. */
export async function startApi(config: Config, log: Logger): Promise<RunningProcess> {
  const signingKeys = required(config.signingKeys, 'SIGNING_KEYS')
  required(config.keyPeppers, 'KEY_PEPPER')
  const app = await openApp(config, log, {
    process: 'api',
    startQueueDepth: () => starts.underWay(),
  })
  const starts = createStartRuns(app)
  const { tasks, watches } = taskServiceOf(app, starts)
  const webhooks = await createApiWebhooks(app)
  const stopping = new AbortController()
  const look = createReadiness(app)
  const readiness = async () =>
    withPart(await look(), 'process', stopping.signal.aborted ? 'stopping' : 'ok')
  const { host, port, internalHost, internalPort } = config
  const deps = apiDepsOf(app, {
    tasks,
    webhooks,
    signingKeys,
    ready: async () => (await readiness()).ready,
    stopping: stopping.signal,
  })
  const server = createServer(createApp(deps), { silentMsMax: config.syncDeadlineSeconds * 1000 })
  const listening = await listen(server, { host, port }).catch(
    explaining(`HOST ${host}, PORT ${port}`),
  )
  const internal = await createInternalServer({
    host: internalHost,
    port: internalPort,
    metrics: app.metrics,
    readiness,
  }).catch(explaining(`INTERNAL_HOST ${internalHost}, INTERNAL_PORT ${internalPort}`))
  // One for each waiter, and two for each of a thousand other requests: its connection and a blob.
  warnOfOpenFiles(log, waitersMaxDefault.process + 2 * 1_000 + otherOpenFiles)
  log.info('api ready', { port: listening })
  return {
    ended: new Promise(() => {}),
    stop: async (noticeMs) => {
      stopping.abort()
      await sleep(noticeMs)
      await closeServer(server, config.syncDeadlineSeconds * 1000 + drainExtraMs)
      await starts.idle()
      await internal.close()
      await watches.close()
      await app.close()
    },
  }
}

/** What the routes share, and the part that wakes those who wait for the end of a task. */
function taskServiceOf(app: App, starts: StartRuns) {
  const { config, log, pool, blobs, temporal, operatorSettings, messages } = app
  const watches = createTaskWatches({
    pool,
    hear: messages.hear,
    onError: (error) => log.warn('waiting tasks not read', { error }),
  })
  const tasks = createTaskService({
    ...operatorSettings,
    pool,
    blobs,
    watches,
    peppers: required(config.keyPeppers, 'KEY_PEPPER'),
    cancelTask: async (taskId, reason) => {
      const { result, ended } = await cancelTask({ ...config, pool }, taskId, reason)
      if (ended !== undefined) app.announceEnd(taskId)
      return result
    },
    endRun: (taskId) => void cancelWorkflow(temporal, taskId),
    runStage: createReadRunStage(temporal),
    taskDeadlineMs: config.taskDeadlineSeconds * 1000,
    // No answer waits for this. What gets lost here is started by the reconciler.
    onAccepted: (start) => (start.sync ? messages.announceTask(start) : starts.start(start)),
  })
  return { tasks, watches }
}

function apiDepsOf(
  { config, log, metrics, pool, blobs, operatorSettings }: App,
  own: Pick<ApiDeps, 'tasks' | 'webhooks' | 'signingKeys' | 'ready' | 'stopping'>,
): ApiDeps {
  return {
    ...own,
    reads: createAccountReads(pool),
    readTaskOfImage: (taskId) => readTaskOfImage(pool, taskId),
    blobs,
    variants: createVariants({
      blobs,
      isUploadKept: (uploadId) => isUploadKept(pool, uploadId),
      convert: convertBlob,
    }),
    config: {
      ...config,
      ...operatorSettings,
      syncDeadlineMs: config.syncDeadlineSeconds * 1000,
      ...(hasParent ? { engineFile: join(config.dataDir, engineFileName) } : {}),
    },
    observe: observeRequests({ log, metrics }),
    reportError: (error, { requestId, route }) =>
      log.error('request failed unexpectedly', { requestId, route, error }),
  }
}
