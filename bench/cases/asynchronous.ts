import { runTasks, settled, submitShot } from './tasks.ts'
import type { BenchCase } from '../support/benchCase.ts'
import type { BenchWorld } from '../support/benchWorld.ts'
import { loadOf, shoot } from '../support/load.ts'
import { runParallel, timed } from '../../test/support/timing.ts'

/** Tasks from submit to succeeded, against bare workflows with one empty activity on the same server. */
export const fiftyInFlight: BenchCase = {
  name: 'async-50',
  title: 'asynchronous, 50 in flight, submit to succeeded',
  figures: {
    tasks: { unit: 'per s' },
    'bare workflows': { unit: 'per s' },
    'of bare workflows': { unit: 'x', goal: { atLeast: 0.85 } },
  },
  round: async (world) => {
    const count = world.quick ? 300 : 1_000
    await warmUp(world)
    const bareMs = await timed(() => runParallel(count, 50, world.bare.execute))
    const ownMs = await timed(() => runTasks(world, count, 50))
    return {
      tasks: (count / ownMs) * 1000,
      'bare workflows': (count / bareMs) * 1000,
      'of bare workflows': bareMs / ownMs,
    }
  },
}

/** Few, because a worker needs ten times as long for the tasks of a load of submits. */
const load = 1_000

/** Runs some tasks, so that no figure is that of code that was not compiled yet. */
const warmUp = (world: BenchWorld) => runTasks(world, 100, 20)

/** The 202 of a submit, with Temporal running and stopped. */
export const submits: BenchCase = {
  name: 'submit',
  title: 'submit',
  figures: {
    'one at a time p50': { unit: 'ms', goal: { atMost: 4 } },
    '20 connections': { unit: 'per s', goal: { atLeast: 450 } },
    'bare workflow.start': { unit: 'per s' },
    'with Temporal stopped': { unit: 'x', goal: { atLeast: 1 } },
  },
  round: async (world) => {
    await warmUp(world)
    const one = await loadOf(world.quick ? 100 : 300, 1, submitShot(world.service))
    const many = await loadOf(load, 20, submitShot(world.service))
    const floor = await loadOf(load / 4, 20, async (agent) => {
      await shoot(agent, `${world.floorUrl}/start`, { method: 'POST' })
    })
    const stopped = await withTemporalStopped(world, () =>
      loadOf(load, 20, submitShot(world.service)),
    )
    await settled(world.service, world.say)
    return {
      'one at a time p50': one.p50Ms,
      '20 connections': many.perSecond,
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
  round: async (world) => {
    await warmUp(world)
    const accounts = await Promise.all(
      Array.from({ length: world.quick ? 100 : 1_000 }, () => world.service.account()),
    )
    const secretOf = (n: number) => accounts[n % accounts.length]?.secret ?? ''
    // The API remembers a key that it has seen.
    await loadOf(accounts.length, 20, async (agent, n) => {
      const headers = { authorization: `Bearer ${secretOf(n)}` }
      await shoot(agent, `${world.service.url}/v1/account`, { headers })
    })
    const one = await loadOf(load, 20, submitShot(world.service))
    await settled(world.service, world.say)
    const many = await loadOf(load, 20, (agent, n) =>
      submitShot(world.service, secretOf(n))(agent, n),
    )
    await settled(world.service, world.say)
    return {
      'one account': one.perSecond,
      '1,000 accounts': many.perSecond,
      'of 1,000 accounts': one.perSecond / many.perSecond,
    }
  },
}

async function withTemporalStopped<Value>(
  { stack }: BenchWorld,
  work: () => Promise<Value>,
): Promise<Value> {
  const [, temporal = 0] = stack.pids()
  process.kill(temporal, 'SIGSTOP')
  try {
    return await work()
  } finally {
    process.kill(temporal, 'SIGCONT')
  }
}
