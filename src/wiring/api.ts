import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { required } from '../config.ts'
import { engineFileName } from '../config/runtimeFile.ts'
import type { AttemptStore } from '../store/attempts/attemptStore.ts'
import { channelsOf, longestTimeoutMs } from '../domain/upstream/channel.ts'
import { waitersMaxDefault } from '../http/answers/waitPlaces.ts'
import { observeRequests } from '../http/middleware.ts'
import { createApp } from '../http/app.ts'
import { closeServer, createServer, listen } from '../http/server.ts'
import type { ApiDeps } from '../http/context.ts'
import { createInternalServer } from '../http/internalServer.ts'
import { explaining } from './explaining.ts'
import type { App } from './app.ts'
import { openApp } from './app.ts'
import { createReadiness, withPart } from './readiness.ts'
import type { RunningProcess } from './runProcess.ts'
import { cancelTask } from '../store/tasks/ends.ts'
import { markStarted } from '../store/reconcile/claims.ts'
import { createTaskEnds } from '../store/tasks/taskEnds.ts'
import { createAccountReads } from '../store/accounts/accountStore.ts'
import { createTaskStore } from '../store/tasks/taskStore.ts'
import { createTaskService } from '../tasks/taskService.ts'
import type { Logger } from '../telemetry/logger.ts'
import { otherOpenFiles, warnOfOpenFiles } from '../telemetry/openFiles.ts'
import { createReadRunStage } from '../temporal/readRunStage.ts'
import type { StartRuns } from '../temporal/startRuns.ts'
import { createStartRuns } from '../temporal/startRuns.ts'
import { cancelWorkflow } from '../temporal/runs.ts'
import { createApiWebhooks } from './webhooks.ts'

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
  const starts = startRunsOf(app)
  const service = taskServiceOf(app, starts)
  const webhooks = await createApiWebhooks(app)
  const stopping = new AbortController()
  const look = createReadiness(app)
  const readiness = async () =>
    withPart(await look(), 'process', stopping.signal.aborted ? 'stopping' : 'ok')
  const { host, port, internalHost, internalPort } = config
  const deps = apiDepsOf(app, {
    tasks: service.tasks,
    webhooks,
    signingKeys,
    ready: async () => (await readiness()).ready,
    stopping: stopping.signal,
  })
  const server = createServer(createApp(deps))
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
      await service.close()
      await app.close()
    },
  }
}

function taskServiceOf(app: App, starts: StartRuns) {
  const { config, log, pool, temporal, operatorSettings, messages, announceEnd } = app
  const ends = { ...config, pool, announceEnd }
  const cancel: AttemptStore['cancelTask'] = (taskId, reason) => cancelTask(ends, taskId, reason)
  const taskEnds = createTaskEnds({
    pool,
    hear: messages.hear,
    onError: (error) => log.warn('waiting tasks not read', { error }),
  })
  const tasks = createTaskService({
    store: createTaskStore(pool),
    cancelTask: cancel,
    endRun: (taskId) => void cancelWorkflow(temporal, taskId),
    ends: taskEnds,
    peppers: required(config.keyPeppers, 'KEY_PEPPER'),
    runStage: createReadRunStage(temporal),
    capabilities: operatorSettings.capabilities,
    prices: operatorSettings.priceList,
    taskDeadlineMs: config.taskDeadlineSeconds * 1000,
    longestTimeoutMs: (family) => longestTimeoutMs(channelsOf(operatorSettings.channels, family)),
    randomBytes,
    // No answer waits for this. What gets lost here is started by the reconciler.
    onAccepted: (start) => (start.sync ? messages.announceSyncTask(start) : starts.start(start)),
  })
  return {
    tasks,
    close: taskEnds.close,
  }
}

function startRunsOf({ log, metrics, pool, startTask }: App): StartRuns {
  return createStartRuns({
    startTask,
    markStarted: (taskId) => markStarted(pool, taskId),
    onLeft: (taskId, reason) => {
      metrics.startLeft(reason)
      log.info('start left to the reconciler', { taskId, reason })
    },
    onMarkFailed: (taskId, error) => log.warn('start not marked', { taskId, error }),
  })
}

function apiDepsOf(
  { config, log, metrics, pool, blobs, operatorSettings }: App,
  own: Pick<ApiDeps, 'tasks' | 'webhooks' | 'signingKeys' | 'ready' | 'stopping'>,
): ApiDeps {
  return {
    ...own,
    reads: createAccountReads(pool),
    readTaskOfImage: createTaskStore(pool).readTaskOfImage,
    blobs,
    config: {
      publicUrl: config.publicUrl,
      ingressLimitBytes: config.ingressLimitBytes,
      syncDeadlineMs: config.syncDeadlineSeconds * 1000,
      capabilities: operatorSettings.capabilities,
      prices: operatorSettings.priceList,
      publicPages: config.publicPages,
      engineFile: join(config.dataDir, engineFileName),
      assetRedirect: config.assetRedirect,
    },
    observe: observeRequests({ log, metrics }),
    reportError: (error, { requestId, route }) =>
      log.error('request failed unexpectedly', { requestId, route, error }),
  }
}
