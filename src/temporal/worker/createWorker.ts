import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker'
import { NativeConnection, Worker } from '@temporalio/worker'
import type { RunSinks } from '../../../workflows/contract.ts'
import { produceTaskQueue, workflowTaskQueue } from '../../../workflows/contract.ts'
import { taskIdOf } from '../../domain/ids.ts'
import type { Family } from '../../domain/models/models.ts'
import { families } from '../../domain/models/models.ts'
import type { TaskTracer } from '../../domain/ports/taskTracer.ts'
import type { TemporalSettings } from '../connect.ts'
import { connectionOptions } from '../connect.ts'
import type { WorkflowBundle } from './workflowBundle.ts'

type ActivityName = 'produceImage' | 'recordFailure' | 'cancelTask'

type WorkerOptions = {
  readonly settings: TemporalSettings
  /** What `createActivities(deps)` returns. */
  readonly activities: Readonly<Record<ActivityName, (input: never) => Promise<unknown>>>
  readonly bundle: WorkflowBundle
  /**
   * Upstream calls at once per family: the sum of `concurrencyMax` of its channels. With more slots than
   * that, tasks would wait for a place on a channel inside their slots, where accounts do not take turns.
   */
  readonly slots: Readonly<Record<Family, number>>
  /** Covers the longest upstream call and storing its answer: an aborted call may be charged anyway. */
  readonly shutdownGraceMs: number
  /** Needs a `bundle` made with `traced: true`. */
  readonly tracer?: TaskTracer
}

export type RunningWorker = {
  /** Settles when all queues are stopped: resolves after `stop`, rejects when a queue fails. */
  readonly done: Promise<void>
  /** Whether every queue is polled. */
  readonly isRunning: () => boolean
  /** Stops polling, lets calls under way finish within the grace time, then resolves. */
  readonly stop: () => Promise<void>
}

/** A cached workflow needs no replay at its next task, but takes memory of the workflow thread. */
const cachedWorkflowsMax = 1_000
const workflowSlots = 40
const recordSlots = 20
/** A task is matched at once when a poller waits for it. Otherwise the server stores it and reads it back. */
const pollers = 24
/** The SDK delays heartbeats by at most this long. A late heartbeat can time out a call that is paid for. */
const heartbeatThrottle = '1 s'
/** How long after the grace time the SDK drops activities that still run. */
const forceMs = 15_000
/** How long a workflow task waits for the worker that caches its workflow. The SDK's default is 10 s. */
const stickyTimeout = '5 s'

/**
 * Connects to Temporal and polls the workflow queue and one queue per family for upstream calls. Rejects
 * when Temporal cannot be reached.
 */
export async function createWorker(options: WorkerOptions): Promise<RunningWorker> {
  const connection = await NativeConnection.connect(connectionOptions(options.settings))
  try {
    const workers = await Promise.all([
      createWorkflowWorker(connection, options),
      ...families.map((family) => createProduceWorker(connection, options, family)),
    ])
    return runAll(connection, workers)
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
    ...sharedOptions(connection, options),
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
  // A family without channels has a slot too, so that its tasks end with a reason and do not wait forever.
  const slots = Math.max(1, options.slots[family])
  return Worker.create({
    ...sharedOptions(connection, options),
    taskQueue: produceTaskQueue(family),
    activities: { produceImage },
    maxConcurrentActivityTaskExecutions: slots,
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: Math.min(pollers, slots) },
  })
}

function sharedOptions(connection: NativeConnection, options: WorkerOptions) {
  return {
    connection,
    namespace: options.settings.namespace,
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownGraceMs + forceMs,
    maxHeartbeatThrottleInterval: heartbeatThrottle,
    defaultHeartbeatThrottleInterval: heartbeatThrottle,
    ...(options.tracer === undefined ? {} : tracingOptions(options.tracer)),
  } as const
}

function runAll(connection: NativeConnection, workers: readonly Worker[]): RunningWorker {
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const running = workers.map((worker) => worker.run())
  // When one queue fails, all of them stop. `done` then rejects and the process exits to be restarted.
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

/** Worker options that report to the tracer each activity and each run that ends on this worker. */
function tracingOptions(tracer: Pick<TaskTracer, 'activity' | 'runEnded'>) {
  return { interceptors: { activity: [tracedActivity(tracer)] }, sinks: runSinks(tracer) }
}

function tracedActivity(tracer: Pick<TaskTracer, 'activity'>): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const { workflowExecution: run, activityType: activity, attempt } = info
        if (run === undefined) return next(input)
        const { runId } = run
        const taskId = taskIdOf(run.workflowId)
        return tracer.activity({ taskId, runId, activity, attempt }, () => next(input))
      },
    },
  })
}

function runSinks(tracer: Pick<TaskTracer, 'runEnded'>): InjectedSinks<RunSinks> {
  return {
    run: {
      ended: {
        fn: ({ workflowId, runId, runStartTime }, outcome, endedAtMs) =>
          tracer.runEnded({
            taskId: taskIdOf(workflowId),
            runId,
            startedAtMs: runStartTime.getTime(),
            endedAtMs,
            outcome,
          }),
      },
    },
  }
}
