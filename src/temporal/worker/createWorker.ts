import { setTimeout as sleep } from 'node:timers/promises'
import { NativeConnection, Worker } from '@temporalio/worker'
import { produceTaskQueue, workflowTaskQueue } from '../../../workflows/contract.ts'
import type { Family } from '../../domain/models/models.ts'
import { families } from '../../domain/models/models.ts'
import type { TemporalSettings } from '../connect.ts'
import type { WorkflowBundle } from './workflowBundle.ts'

type ActivityName = 'produceImage' | 'cancelTask'

type WorkerOptions = {
  readonly settings: TemporalSettings
  /** The id of the blob store: the worker carries out the tasks of this installation alone. */
  readonly storeId: string
  /** The activities, as `createActivities(deps)` returns them. */
  readonly activities: Readonly<Record<ActivityName, (input: never) => Promise<unknown>>>
  readonly bundle: WorkflowBundle
  /**
   * For each family, how many activities with upstream calls may run at the same time: the sum of `concurrencyMax`
   * of the family's channels. With more slots, more tasks would wait in a slot for a place on a channel, while a wait
   * in Temporal's queue costs nothing.
   */
  readonly slots: Readonly<Record<Family, number>>
  /**
   * How long activities may continue after `stop`. Long enough for the longest upstream call and for storing
   * its answer. If we abort a call, the vendor may still charge us for it.
   */
  readonly shutdownGraceMs: number
  /** Called once, with the first error, when Temporal cannot be reached at the start. */
  readonly onUnreachable: (error: unknown) => void
}

export type RunningWorker = {
  /** Resolves when all queues have stopped after `stop`. Rejects when a queue fails. */
  readonly done: Promise<void>
  /** Returns whether the worker polls every queue. */
  readonly isRunning: () => boolean
  /**
   * Stops polling, and waits until the running upstream calls have finished or the grace time is over. Does not wait for
   * a connection, which can take half a minute.
   */
  readonly stop: () => Promise<void>
}

/** A cached workflow is not replayed when it continues, but it takes memory in the workflow thread. */
const cachedWorkflowsMax = 1_000
const workflowSlots = 40
const recordSlots = 20
/**
 * How many requests for work wait at the Temporal server at the same time, per queue. When a request is
 * waiting, the server hands over new work at once. Otherwise the server first stores the work and reads it
 * back later.
 */
const pollers = (maximum: number) => ({ type: 'simple-maximum', maximum }) as const
const pollersMax = 24
/** Short, because a heartbeat that the SDK holds back can make Temporal time out an upstream call that we pay for. */
const heartbeatThrottle = '1 s'
/** How long after the grace time the SDK abandons activities that are still running. */
const forceMs = 15_000
/**
 * How long Temporal's workflow task waits for the worker that has its workflow in the cache. Shorter than the
 * SDK's default of 10 s, so that another worker takes over sooner when that worker is gone.
 */
const stickyTimeout = '5 s'

/** The pause between two tries to reach Temporal. */
const pauseMs = 2_000
const stateCheckMs = 1_000

/**
 * Starts to poll one queue for workflows and one queue per family for upstream calls. Tries again until Temporal can be
 * reached. Until then, only the parts of the process outside of Temporal work, such as the reconciler. After the first
 * connection, the SDK reconnects by itself.
 */
export function startWorker(options: WorkerOptions): RunningWorker {
  const stopping = new AbortController()
  const { signal } = stopping
  let workers: readonly Worker[] = []
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }

  async function connect(): Promise<NativeConnection | undefined> {
    for (let tries = 1; !signal.aborted; tries += 1) {
      let connection: NativeConnection | undefined
      try {
        connection = await NativeConnection.connect(options.settings)
        workers = await createWorkers(connection, options)
        return connection
      } catch (error) {
        // A worker that was made before another one was refused still holds the connection.
        await connection?.close().catch(() => {})
        if (tries === 1) options.onUnreachable(error)
        await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      }
    }
    return undefined
  }

  async function run(): Promise<void> {
    const connection = await connect()
    const running = workers.map(runUntilFailed)
    // When one queue fails, all queues stop. Then `done` rejects, and the process exits so that it is restarted.
    for (const one of running) one.catch(shutdown)
    if (signal.aborted) shutdown()
    const ends = await Promise.allSettled(running)
    // The SDK refuses to close the connection of a worker that never ends.
    await connection?.close().catch(() => {})
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  const done = run()
  return {
    done,
    isRunning: () =>
      workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
    stop: async () => {
      stopping.abort()
      shutdown()
      if (workers.length > 0) await done
    },
  }
}

/**
 * Runs the worker of one queue to its end. Rejects when it fails, also when the SDK then waits for ever: seen after
 * Temporal's database was lost.
 */
export async function runUntilFailed(worker: Pick<Worker, 'run' | 'getState'>): Promise<void> {
  const over = new AbortController()
  const failed = async () => {
    while (worker.getState() !== 'FAILED') {
      await sleep(stateCheckMs, undefined, { signal: over.signal, ref: false })
    }
    await sleep(stateCheckMs)
    throw new Error('The worker of a queue failed and does not end')
  }
  try {
    await Promise.race([worker.run(), failed()])
  } finally {
    over.abort()
  }
}

/** Creates the workers of all queues. Rejects when Temporal does not answer, or does not know the namespace. */
function createWorkers(
  connection: NativeConnection,
  { settings, storeId, bundle, slots, shutdownGraceMs, activities }: WorkerOptions,
): Promise<readonly Worker[]> {
  const { produceImage, cancelTask } = activities
  const workflowQueue = workflowTaskQueue(storeId)
  const shared = {
    connection,
    namespace: settings.namespace,
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + forceMs,
    maxHeartbeatThrottleInterval: heartbeatThrottle,
    defaultHeartbeatThrottleInterval: heartbeatThrottle,
  } as const
  const ofWorkflows = Worker.create({
    ...shared,
    taskQueue: workflowQueue,
    workflowBundle: bundle,
    activities: { cancelTask },
    maxCachedWorkflows: cachedWorkflowsMax,
    maxConcurrentWorkflowTaskExecutions: workflowSlots,
    maxConcurrentActivityTaskExecutions: recordSlots,
    workflowTaskPollerBehavior: pollers(pollersMax),
    activityTaskPollerBehavior: pollers(4),
    stickyQueueScheduleToStartTimeout: stickyTimeout,
  })
  const ofCalls = families.map((family) => {
    // A family without channels still gets one slot. So its tasks end with a reason and do not wait forever.
    const maximum = Math.max(1, slots[family])
    return Worker.create({
      ...shared,
      taskQueue: produceTaskQueue(workflowQueue, family),
      activities: { produceImage },
      maxConcurrentActivityTaskExecutions: maximum,
      activityTaskPollerBehavior: pollers(Math.min(pollersMax, maximum)),
    })
  })
  return Promise.all([ofWorkflows, ...ofCalls])
}
