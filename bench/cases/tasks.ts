import { setTimeout as sleep } from 'node:timers/promises'
import { runParallel, timed } from '../../test/support/timing.ts'
import type { BenchCase, BenchService } from '../support/benchWorld.ts'
import { taskBody } from '../support/benchWorld.ts'
import type { Shot } from '../support/load.ts'
import { loadAtRate, loadFor, loadOf, shoot } from '../support/load.ts'

/** Tasks from submit to succeeded. */
export const fiftyInFlight: BenchCase = {
  name: 'async-50',
  title: 'asynchronous, 50 in flight, submit to succeeded',
  run: async ({ shared, quick, figure }) => {
    const service = await shared()
    const count = quick ? 300 : 1_000
    await runTasks(service, 100, 20)
    const own = (count / (await timed(() => runTasks(service, count, 50)))) * 1000
    figure('tasks', own, 'per s', { atLeast: 60 })
  },
}

/** Few, because a worker needs ten times as long for the tasks of a load of submits. */
const load = 1_000

/** The 202 of a submit, with Temporal running and stopped. */
export const submits: BenchCase = {
  name: 'submit',
  title: 'submit',
  run: async ({ shared, quick, pidOf, figure }) => {
    const service = await shared()
    await runTasks(service, 100, 20)
    const one = await loadOf(quick ? 100 : 300, 1, submitShot(service))
    const many = await loadOf(load, 20, submitShot(service))
    const temporal = pidOf('temporal')
    process.kill(temporal, 'SIGSTOP')
    const stopped = await loadOf(load, 20, submitShot(service)).finally(() =>
      process.kill(temporal, 'SIGCONT'),
    )
    await settled(service)
    const ratio = stopped.perSecond / many.perSecond
    figure('one at a time p50', one.p50Ms, 'ms', { atMost: 4 })
    figure('20 connections', many.perSecond, 'per s', { atLeast: 450 })
    figure('20 connections p99', many.p99Ms, 'ms', { atMost: 1_000 })
    figure('with Temporal stopped', ratio, 'x', { atLeast: 1 })
  },
}

/** Lookups of an ended task, and of running tasks at a fixed rate. */
export const lookups: BenchCase = {
  name: 'lookup',
  title: 'lookup',
  run: async ({ shared, quick, figure }) => {
    const service = await shared()
    const { client, headers } = service
    const seconds = quick ? 3 : 6
    const { task_id: ended } = await client.accepted(taskBody())
    await client.ended(ended)
    const urlOf = (taskId: string) => `${service.url}/v1/tasks/${taskId}`
    const own = await loadFor(seconds, 20, (agent) => shoot(agent, urlOf(ended), { headers }))
    const latencyMs = (seconds + 6) * 1000
    const running = await Promise.all(
      Array.from({ length: 20 }, () => client.accepted(taskBody({ latencyMs }))),
    )
    await sleep(2_000)
    const live = await loadAtRate(1_000, seconds, (agent, n) =>
      shoot(agent, urlOf(running[n % running.length]?.task_id ?? ''), { headers }),
    )
    await settled(service)
    figure('ended', own.perSecond, 'per s')
    figure('running, 1,000 per s, p99', live.p99Ms, 'ms', { atMost: 30 })
  },
}

/** Makes an image of this size and returns its signed URL. */
export async function assetUrl({ client }: BenchService, bytes: number): Promise<string> {
  const record = await client.ended((await client.accepted(taskBody({ bytes }))).task_id)
  return record.output?.assets[0]?.url ?? ''
}

/** Returns a shot that submits one task, each time with a new idempotency key. */
function submitShot({ url, headers }: BenchService): Shot {
  const body = taskBody()
  return (agent) => {
    const own = { ...headers, 'idempotency-key': crypto.randomUUID() }
    return shoot(agent, `${url}/v1/images/tasks`, { headers: own, body }, 202)
  }
}

/** Runs tasks from submit to succeeded, at most `parallel` at once. */
async function runTasks(service: BenchService, count: number, parallel: number): Promise<void> {
  await runParallel(count, parallel, async () => {
    const { task_id: taskId } = await service.client.accepted(taskBody())
    await succeeded(service, taskId)
  })
}

/** Waits until the task has succeeded, by a lookup that is held open, as Temporal's client waits. */
export async function succeeded({ url, client }: BenchService, taskId: string): Promise<void> {
  const headers = { authorization: client.authorization, prefer: 'wait=60' }
  const answer = await fetch(`${url}/v1/tasks/${taskId}`, { headers })
  const { status } = Object(await answer.json())
  if (status !== 'succeeded') throw new Error(`${taskId} is ${status} after a minute`)
}

const backlogMsMax = 600_000

/** Waits until no task is live, so that the backlog of one measurement does not slow the next. */
async function settled({ pool }: BenchService): Promise<void> {
  const endsAtMs = performance.now() + backlogMsMax
  while ((await pool.query('select from task where completed_at is null limit 1')).rowCount === 1) {
    if (performance.now() > endsAtMs) throw new Error('tasks do not end')
    await sleep(500)
  }
}
