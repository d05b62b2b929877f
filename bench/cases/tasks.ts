import { runParallel, timed } from '../../test/support/timing.ts'
import type { BenchCase } from '../support/benchCase.ts'
import type { BenchService, BenchWorld } from '../support/benchWorld.ts'
import { taskBody } from '../support/benchWorld.ts'
import type { Shot } from '../support/load.ts'
import { loadOf, shoot } from '../support/load.ts'

/** Tasks from submit to succeeded, against bare workflows with one empty activity on the same server. */
export const fiftyInFlight: BenchCase = {
  name: 'async-50',
  title: 'asynchronous, 50 in flight, submit to succeeded',
  figures: {
    tasks: { unit: 'per s' },
    'bare workflows': { unit: 'per s' },
    'of bare workflows': { unit: 'x', goal: { atLeast: 0.85 } },
  },
  round: async ({ shared, quick }) => {
    const { service, floorUrl } = await shared()
    const count = quick ? 300 : 1_000
    await runTasks(service, 100, 20)
    const bare = await loadOf(count, 50, (agent) => shoot(agent, `${floorUrl}/execute`))
    const ownMs = await timed(() => runTasks(service, count, 50))
    const perSecond = (count / ownMs) * 1000
    return {
      tasks: perSecond,
      'bare workflows': bare.perSecond,
      'of bare workflows': perSecond / bare.perSecond,
    }
  },
}

/** Few, because a worker needs ten times as long for the tasks of a load of submits. */
const load = 1_000

/** The 202 of a submit, with Temporal running and stopped. */
export const submits: BenchCase = {
  name: 'submit',
  title: 'submit',
  figures: {
    'one at a time p50': { unit: 'ms', goal: { atMost: 4 } },
    '20 connections': { unit: 'per s', goal: { atLeast: 450 } },
    '20 connections p99': { unit: 'ms', goal: { atMost: 1_000 } },
    'bare workflow.start': { unit: 'per s' },
    'with Temporal stopped': { unit: 'x', goal: { atLeast: 1 } },
  },
  round: async ({ shared, quick, say, pidOf }) => {
    const { service, floorUrl } = await shared()
    await runTasks(service, 100, 20)
    const one = await loadOf(quick ? 100 : 300, 1, submitShot(service))
    const many = await loadOf(load, 20, submitShot(service))
    const floor = await loadOf(load / 4, 20, (agent) => shoot(agent, `${floorUrl}/start`))
    const temporal = pidOf('temporal')
    process.kill(temporal, 'SIGSTOP')
    const stopped = await loadOf(load, 20, submitShot(service)).finally(() =>
      process.kill(temporal, 'SIGCONT'),
    )
    await settled(service, say)
    return {
      'one at a time p50': one.p50Ms,
      '20 connections': many.perSecond,
      '20 connections p99': many.p99Ms,
      'bare workflow.start': floor.perSecond,
      'with Temporal stopped': stopped.perSecond / many.perSecond,
    }
  },
}

/** Submits of one account, against submits of 1,000 accounts. */
export const hotAccount: BenchCase = {
  name: 'hot-account',
  title: 'submits of one account, 20 connections',
  figures: {
    'one account': { unit: 'per s' },
    '1,000 accounts': { unit: 'per s' },
    'of 1,000 accounts': { unit: 'x', goal: { atLeast: 0.7 } },
  },
  round: async ({ shared, quick, say }) => {
    const { service } = await shared()
    await runTasks(service, 100, 20)
    const accounts = await Promise.all(
      Array.from({ length: quick ? 100 : 1_000 }, () => service.account()),
    )
    const shots = accounts.map(({ secret }) => submitShot(service, secret))
    // The API remembers a key that it has seen.
    await loadOf(accounts.length, 20, (agent, n) => {
      const headers = { authorization: `Bearer ${accounts[n % accounts.length]?.secret}` }
      return shoot(agent, `${service.url}/v1/account`, { headers })
    })
    const one = await loadOf(load, 20, submitShot(service))
    await settled(service, say)
    const many = await loadOf(load, 20, async (agent, n) => shots[n % shots.length]?.(agent, n))
    await settled(service, say)
    return {
      'one account': one.perSecond,
      '1,000 accounts': many.perSecond,
      'of 1,000 accounts': one.perSecond / many.perSecond,
    }
  },
}

/** Returns a shot that submits one task, each time with a new idempotency key. */
function submitShot({ url, headers, owner }: BenchService, secret = owner.secret): Shot {
  const own = { ...headers, authorization: `Bearer ${secret}` }
  return (agent) =>
    shoot(agent, `${url}/v1/images/tasks`, {
      method: 'POST',
      headers: { ...own, 'idempotency-key': crypto.randomUUID() },
      body: taskBody(),
      status: 202,
    })
}

/** Runs tasks from submit to succeeded, at most `parallel` at once. */
async function runTasks(service: BenchService, count: number, parallel: number): Promise<void> {
  await runParallel(count, parallel, async () => {
    const { task_id: taskId } = await service.client.accepted(taskBody())
    await succeeded(service, taskId)
  })
}

/**
 * Waits until the task has succeeded, with one lookup that is held open (`Prefer: wait`), as Temporal's client waits
 * for the result of a workflow.
 */
export async function succeeded({ url, client }: BenchService, taskId: string): Promise<void> {
  const headers = { authorization: client.authorization, prefer: 'wait=60' }
  const answer = await fetch(`${url}/v1/tasks/${taskId}`, { headers })
  const { status } = Object(await answer.json())
  if (status !== 'succeeded') throw new Error(`${taskId} is ${status} after a minute`)
}

const backlogMsMax = 600_000

/** Waits until no task is live, so that the backlog of one measurement does not slow the next. */
async function settled({ pool }: BenchService, say: BenchWorld['say']): Promise<void> {
  const endsAtMs = performance.now() + backlogMsMax
  let said = Number.POSITIVE_INFINITY
  for (;;) {
    const { rows } = await pool.query<{ live: string }>(
      `select count(*) as live from task where status in ('queued', 'processing')`,
    )
    const live = Number(rows[0]?.live)
    if (live === 0) return
    if (performance.now() > endsAtMs) throw new Error(`${live} tasks do not end`)
    if (live < said - 1_000) {
      say(`waiting for ${live} tasks`)
      said = live
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
