import { randomBytes } from 'node:crypto'
import { createActivities } from '../../../activities/createActivities.ts'
import { newTaskId, workflowIdOf } from '../../../src/domain/ids.ts'
import type { TaskStart } from '../../../src/domain/tasks/taskStart.ts'
import type { ProduceResult } from '../../../src/tasks/produce/produceImage.ts'
import type { ProduceInput } from '../../../src/tasks/produce/produceInput.ts'
import type { TemporalSettings } from '../../../src/temporal/connect.ts'
import { connectTemporal } from '../../../src/temporal/connect.ts'
import { ensureNamespace, registerSearchAttributes } from '../../../src/temporal/namespace.ts'
import { createStartTask } from '../../../src/temporal/startTask.ts'
import type { RunningWorker } from '../../../src/temporal/worker/createWorker.ts'
import { startWorker } from '../../../src/temporal/worker/createWorker.ts'
import { installRuntime } from '../../../src/temporal/worker/runtime.ts'
import type { WorkflowBundle } from '../../../src/temporal/worker/workflowBundle.ts'
import { workflowBundle } from '../../../src/temporal/worker/workflowBundle.ts'
import { embeddedStack } from '../stack/embeddedStack.ts'
import { useOpened } from '../useOpened.ts'

/** A namespace on the real server that no other test uses. */
export type TemporalWorld = ReturnType<typeof openKnownNamespace>

/** Creates a namespace on the Temporal server of this test run. */
export async function openTestWorld(): Promise<TemporalWorld> {
  const { temporalAddress } = await embeddedStack()
  return openTemporalWorld(temporalAddress)
}

/** Opens a namespace of its own on the server at `address` (HOST:PORT). */
export async function openTemporalWorld(address: string): Promise<TemporalWorld> {
  return openKnownNamespace(await takeNamespace(address))
}

/** Of a blob store that no test has. */
const storeId = 'test'

/** Opens a namespace that exists. */
export function openKnownNamespace(settings: TemporalSettings) {
  const temporal = connectTemporal(settings)
  const startTask = createStartTask(temporal, { storeId, produceTimeoutMs: 600_000 })
  return { settings, temporal, startTask, close: () => temporal.close() }
}

/** Namespaces that are made for the next caller, by the server's address. */
const spares = new Map<string, Promise<TemporalSettings>>()

/** Temporal knows a new namespace only seconds later. So the next one is made while this one is in use. */
async function takeNamespace(address: string): Promise<TemporalSettings> {
  const spare = spares.get(address)
  spares.delete(address)
  // A spare fails when the machine was too busy at that moment. That must not fail the file that takes it.
  const settings = await (spare?.catch(() => makeNamespace(address)) ?? makeNamespace(address))
  if (!spares.has(address)) {
    const next = makeNamespace(address)
    next.catch(() => {})
    spares.set(address, next)
  }
  return settings
}

async function makeNamespace(address: string): Promise<TemporalSettings> {
  const settings = { address, namespace: `test-${randomBytes(6).toString('hex')}` }
  const temporal = connectTemporal(settings)
  try {
    await ensureNamespace(temporal, { retentionSeconds: 0 })
    await registerSearchAttributes(temporal)
  } finally {
    await temporal.close()
  }
  return settings
}

/** Returns the Temporal handle of a task's workflow. */
export function handleOf(world: Pick<TemporalWorld, 'temporal'>, taskId: string) {
  return world.temporal.client.workflow.getHandle(workflowIdOf(taskId))
}

/** Fails the pending activity of a task's workflow for good, as an operator does in Temporal's UI. */
export async function failActivity(
  world: Pick<TemporalWorld, 'temporal' | 'settings'>,
  taskId: string,
): Promise<void> {
  const { raw } = await handleOf(world, taskId).describe()
  await world.temporal.client.workflowService.respondActivityTaskFailedById({
    namespace: world.settings.namespace,
    workflowId: workflowIdOf(taskId),
    activityId: raw.pendingActivities?.[0]?.activityId ?? '',
    failure: { message: 'an operator', applicationFailureInfo: { nonRetryable: true } },
    identity: 'an operator',
  })
}

let prepared: Promise<WorkflowBundle> | undefined

/** The workflow code of this repository. */
export function testBundle(): Promise<WorkflowBundle> {
  if (prepared === undefined) {
    installRuntime(() => {})
    prepared = workflowBundle()
  }
  return prepared
}

/** Starts a worker with so many slots per family. */
export async function startTestWorker(
  settings: TemporalSettings,
  activities: ReturnType<typeof createActivities>,
  slots = { A: 5, B: 5 },
): Promise<RunningWorker> {
  return startWorker({
    settings,
    storeId,
    activities,
    bundle: await testBundle(),
    slots,
    shutdownGraceMs: 5_000,
    onUnreachable: () => {},
  })
}

/**
 * Creates a namespace with a worker whose activities follow the scripts before the tests of the calling file, and
 * stops the worker after them.
 */
export function useScriptedWorld(
  scripts: ReturnType<typeof createScripts>,
): Omit<TemporalWorld, 'close'> {
  return useOpened(
    async () => {
      const world = await openTestWorld()
      return { ...world, worker: await startTestWorker(world.settings, scripts.activities) }
    },
    async ({ worker, close }) => {
      await worker.stop()
      await close()
    },
    ['settings', 'temporal', 'startTask'],
  )
}

type Line = ProduceResult | Error | ((run: ProduceInput) => Promise<ProduceResult>)

/** What happens to one task: each run of `produceImage` takes the next line of `produce`, then repeats the last. */
export type Script = {
  readonly produce: readonly Line[]
  readonly cancelled?: boolean
}

/** What the activities saw of one task. `runsAtMs` are milliseconds of a monotonic clock. */
export type Seen = { readonly runsAtMs: number[]; readonly givenUp: boolean[] }

/** Activities in which each task follows its script, so that only Temporal and the workflow code are real. */
export function createScripts() {
  const scripts = new Map<string, Script>()
  const seen = new Map<string, Seen>()
  const seenOf = (taskId: string): Seen => {
    const found = seen.get(taskId) ?? { runsAtMs: [], givenUp: [] }
    seen.set(taskId, found)
    return found
  }
  const activities = createActivities({
    produceImage: async (run) => {
      const { produce } = scripts.get(run.taskId) ?? { produce: [] }
      const { runsAtMs, givenUp } = seenOf(run.taskId)
      givenUp.push(run.giveUp ?? false)
      const line = produce[runsAtMs.length] ?? produce.at(-1)
      runsAtMs.push(performance.now())
      if (line === undefined || line instanceof Error) throw line ?? new Error('no script')
      return typeof line === 'function' ? line(run) : line
    },
    cancelTask: async (taskId) =>
      (scripts.get(taskId)?.cancelled ?? true) ? 'cancelled' : 'call_under_way',
    log: { error: () => {} },
    stopping: new AbortController().signal,
  })
  return {
    activities,
    seenOf,
    add: (script: Script, given: Partial<TaskStart> = {}): TaskStart => {
      const start = { ...testStart(), ...given }
      scripts.set(start.taskId, script)
      return start
    },
  }
}

/** The start of a new task of family B. */
export function testStart(): TaskStart {
  return {
    taskId: newTaskId(),
    accountId: 'acct_test',
    family: 'B',
    model: 'familyb-image-2-vip',
    action: 'generate',
    size: '1024x1024',
    sync: false,
  }
}
