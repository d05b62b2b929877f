import { NativeConnection, Worker } from '@temporalio/worker'
import { setTimeout as sleep } from 'node:timers/promises'
import { produceTaskQueue, workflowTaskQueue } from '../../../workflows/contract.ts'
import type { Family } from '../../domain/models.ts'
import { families } from '../../domain/models.ts'
import type { TaskTracer } from '../../domain/ports/taskTracer.ts'
import type { TemporalSettings } from '../connect.ts'
import { connectionOptions } from '../connect.ts'
import { tracedWorker } from './tracedWorker.ts'
import type { WorkflowBundle } from './workflowBundle.ts'

type ActivityName = 'produceImage' | 'recordFailure' | 'cancelTask'

type WorkerOptions = {
  readonly settings: TemporalSettings
  /** `createActivities(deps)`. */
  readonly activities: Readonly<Record<ActivityName, (input: never) => Promise<unknown>>>
  readonly bundle: WorkflowBundle
  /**
   * Upstream calls at once per family: the sum of its channels' concurrency. Not more, for what waits in
   * Temporal's queue is ordered fairly, and what waits in a slot is not (design 1.14).
   */
  readonly slots: Readonly<Record<Family, number>>
  /** Longest upstream call and its storing: a call that is under way when the worker stops is paid for. */
  readonly shutdownGraceMs: number
  /** Wants a bundle that is `traced`. */
  readonly tracer?: TaskTracer
}

export type RunningWorker = {
  /** Settles when all queues have stopped: resolves after `stop`, rejects when one has failed. */
  readonly done: Promise<void>
  /** Whether every queue is being polled. */
  readonly isRunning: () => boolean
  /** Polls no more; calls under way finish within the grace time. Resolves when all is quiet. */
  readonly stop: () => Promise<void>
}

/** A cached workflow saves a replay and costs memory of the workflow thread. */
const cachedWorkflowsMax = 1_000
const workflowSlots = 40
const recordSlots = 20
/** Whoever finds a poller waiting is handed over at once; whoever does not is written down and read again. */
const pollers = 24
/** Beats are rare and decide about a paid call: none is held back by more than this. */
const heartbeatThrottle = '1 s'
/** After the grace time: a call that has not ended by then is given up with its slot. */
const forceMs = 15_000
/** A worker that is gone is found out sooner than by the default of ten seconds. */
const stickyTimeout = '5 s'

/** Connects and starts polling: the workflow queue, and one queue per family for upstream calls. */
export async function createWorker(options: WorkerOptions): Promise<RunningWorker> {
  const connection = await NativeConnection.connect(connectionOptions(options.settings))
  try {
    const workers = await Promise.all([
      createWorkflowWorker(connection, options),
      ...families.map((family) => createProduceWorker(connection, options, family)),
    ])
    return run(connection, workers)
  } catch (error) {
    await connection.close()
    throw error
  }
}

async function createWorkflowWorker(
  connection: NativeConnection,
  options: WorkerOptions,
): Promise<Worker> {
  const { recordFailure, cancelTask } = options.activities
  return Worker.create({
    ...shared(connection, options),
    taskQueue: workflowTaskQueue,
    workflowBundle: options.bundle,
    activities: { recordFailure, cancelTask },
    maxCachedWorkflows: cachedWorkflowsMax,
    maxConcurrentWorkflowTaskExecutions: workflowSlots,
    maxConcurrentActivityTaskExecutions: recordSlots,
    workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: pollers },
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 4 },
    stickyQueueScheduleToStartTimeout: stickyTimeout,
  })
}

async function createProduceWorker(
  connection: NativeConnection,
  options: WorkerOptions,
  family: Family,
): Promise<Worker> {
  const { produceImage } = options.activities
  // A family without a channel has a slot too: its tasks are to end with a reason.
  const slots = Math.max(1, options.slots[family])
  return Worker.create({
    ...shared(connection, options),
    taskQueue: produceTaskQueue(family),
    activities: { produceImage },
    maxConcurrentActivityTaskExecutions: slots,
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: Math.min(pollers, slots) },
  })
}

function shared(connection: NativeConnection, options: WorkerOptions) {
  return {
    connection,
    namespace: options.settings.namespace,
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownGraceMs + forceMs,
    maxHeartbeatThrottleInterval: heartbeatThrottle,
    defaultHeartbeatThrottleInterval: heartbeatThrottle,
    ...(options.tracer === undefined ? {} : tracedWorker(options.tracer)),
  } as const
}

function run(connection: NativeConnection, workers: readonly Worker[]): RunningWorker {
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const running = workers.map((worker) => worker.run())
  // One queue without its poller is half a worker: it stops whole and the process starts anew.
  for (const one of running) one.catch(shutdown)
  const done = untilStopped(connection, running)
  return {
    done,
    isRunning: () => workers.every((worker) => worker.getState() === 'RUNNING'),
    stop: async () => {
      shutdown()
      await done
    },
  }
}

async function untilStopped(
  connection: NativeConnection,
  running: readonly Promise<void>[],
): Promise<void> {
  const ends = await Promise.allSettled(running)
  await connection.close()
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

const pauseMs = 2_000

/**
 * A worker that waits for a Temporal which is away when the process starts: until it is connected it is
 * not running, and the rest of the process (the reconciler) does its work. Once connected, an outage is
 * waited out by the SDK itself.
 */
export function createPatientWorker(
  create: () => Promise<RunningWorker>,
  onUnreachable: (error: unknown) => void,
): RunningWorker {
  const stopping = new AbortController()
  const stopAsked = Promise.withResolvers<undefined>()
  let worker: RunningWorker | undefined

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      const connecting = create()
      try {
        worker = await Promise.race([connecting, stopAsked.promise])
      } catch (error) {
        onUnreachable(error)
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
        continue
      }
      // `stop` came while it connected: nobody else will stop it. A frozen Temporal may take half a minute.
      if (worker === undefined) return void stopLate(connecting)
      if (stopping.signal.aborted) await worker.stop()
      return worker.done
    }
  }

  const done = work()
  return {
    done,
    isRunning: () => worker?.isRunning() ?? false,
    stop: async () => {
      stopping.abort()
      stopAsked.resolve(undefined)
      await worker?.stop()
      await done
    },
  }
}

/** Of a connection that nobody waits for any more: that it fails, now or while it stops, is nobody's loss. */
async function stopLate(connecting: Promise<RunningWorker>): Promise<void> {
  await connecting.then((late) => late.stop()).catch(() => {})
}
