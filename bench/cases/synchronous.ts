import { generationShot, generationPath } from './tasks.ts'
import type { BenchCase, Figures } from '../support/benchCase.ts'
import type { BenchService, BenchWorld, ImageSize } from '../support/benchWorld.ts'
import { generationBody } from '../support/benchWorld.ts'
import type { Load, Shot } from '../support/load.ts'
import { loadFor, loadOf, shoot } from '../support/load.ts'
import { cpuMs } from '../support/processCost.ts'
import { peakMiB } from '../../test/support/service/processUsage.ts'

/** One call at a time: what Darkroom adds to the same call through a forwarder that stores nothing. */
export const oneAtATime: BenchCase = {
  name: 'sync-one',
  title: 'synchronous, one at a time, 4 KiB',
  figures: {
    'added p50': { unit: 'ms', goal: { atMost: 7 } },
    p50: { unit: 'ms' },
    'forwarder p50': { unit: 'ms' },
  },
  round: async (world) => {
    const count = world.quick ? 60 : 300
    const forwarder = await loadOf(count, 1, forwardedShot(world, 'small'))
    const own = await loadOf(count, 1, generationShot(world.service, 'small'))
    return {
      'added p50': own.p50Ms - forwarder.p50Ms,
      p50: own.p50Ms,
      'forwarder p50': forwarder.p50Ms,
    }
  },
}

export const twentySmall: BenchCase = {
  name: 'sync-20',
  title: 'synchronous, 20 connections, 4 KiB',
  figures: {
    calls: { unit: 'per s', goal: { atLeast: 300 } },
    p99: { unit: 'ms' },
    'CPU a call': { unit: 'ms', goal: { atMost: 5 } },
    'CPU a call, API': { unit: 'ms' },
    'CPU a call, worker': { unit: 'ms' },
    'CPU a call, PostgreSQL': { unit: 'ms' },
    'CPU a call, Temporal': { unit: 'ms' },
    forwarder: { unit: 'per s' },
    'of the forwarder': { unit: 'x' },
  },
  round: async (world) => {
    const seconds = world.quick ? 4 : 10
    const forwarder = await loadFor(seconds / 2, 20, forwardedShot(world, 'small'))
    const own = await costed(world.service, () =>
      loadFor(seconds, 20, generationShot(world.service, 'small')),
    )
    return {
      ...own,
      forwarder: forwarder.perSecond,
      'of the forwarder': own.calls / forwarder.perSecond,
    }
  },
}

export const twentyLarge: BenchCase = {
  name: 'sync-20-1mib',
  title: 'synchronous, 20 connections, 1 MiB',
  figures: {
    calls: { unit: 'per s', goal: { atLeast: 90 } },
    p99: { unit: 'ms' },
    'CPU a call': { unit: 'ms' },
    API: { unit: 'MiB', goal: { atMost: 350 } },
    worker: { unit: 'MiB', goal: { atMost: 350 } },
  },
  round: async (world) => {
    const seconds = world.quick ? 4 : 10
    const own = await costed(world.service, () =>
      loadFor(seconds, 20, generationShot(world.service, 'large')),
    )
    const { api, worker } = world.service.parts()
    return { ...own, API: peakMiB(api[0] ?? 0), worker: peakMiB(worker[0] ?? 0) }
  },
}

export const manyCallers: BenchCase = {
  name: 'sync-200',
  title: 'synchronous, 200 callers at once of a model that takes 2 s',
  figures: {
    calls: { unit: 'per s', goal: { atLeast: 80 } },
    p99: { unit: 'ms', goal: { atMost: 2_600 } },
  },
  round: async (world) => {
    const own = await loadOf(
      world.quick ? 400 : 1_000,
      200,
      generationShot(world.service, 'small', 2_000),
    )
    return { calls: own.perSecond, p99: own.p99Ms }
  },
}

export const twoOfEach: BenchCase = {
  name: 'sync-two',
  title: 'synchronous, 20 connections, 4 KiB, two APIs and two workers on the same machine',
  figures: {
    calls: { unit: 'per s' },
    'of one API and one worker': { unit: 'x', goal: { atLeast: 1 } },
    'CPU a call, PostgreSQL': { unit: 'ms' },
  },
  round: async (world) => {
    const seconds = world.quick ? 4 : 10
    const one = await loadFor(seconds, 20, generationShot(world.service, 'small'))
    const two = await world.startService({ apis: 2, workers: 2 })
    try {
      const urls = two.apis.map(({ url }) => url)
      const shot: Shot = async (agent, n) => {
        await shoot(agent, `${urls[n % urls.length] ?? ''}${generationPath}`, {
          method: 'POST',
          headers: two.headers,
          body: generationBody('small'),
        })
      }
      // The processes of the shared service have already compiled their code.
      await loadOf(world.quick ? 400 : 1_000, 20, shot)
      const own = await costed(two, () => loadFor(seconds, 20, shot))
      return { ...own, 'of one API and one worker': own.calls / one.perSecond }
    } finally {
      await two.stop()
    }
  },
}

/** Returns a shot that makes the same call through the forwarder. */
export function forwardedShot(world: BenchWorld, image: ImageSize): Shot {
  const body = generationBody(image)
  return async (agent) => {
    await shoot(agent, `${world.floorUrl}/forward`, { method: 'POST', body })
  }
}

/** Runs a load and returns its rate, its p99 and the CPU time of each part for one call. */
async function costed(
  service: BenchService,
  work: () => Promise<Load>,
): Promise<Figures & { readonly calls: number }> {
  const total = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0)
  const read = () => {
    const { api, worker, postgres, temporal } = service.parts()
    return [total(api), total(worker), total(postgres), total(temporal)]
  }
  const before = read()
  const load = await work()
  const [api = 0, worker = 0, postgres = 0, temporal = 0] = read().map(
    (ms, part) => (ms - (before[part] ?? 0)) / load.count,
  )
  return {
    calls: load.perSecond,
    p99: load.p99Ms,
    'CPU a call': api + worker + postgres + temporal,
    'CPU a call, API': api,
    'CPU a call, worker': worker,
    'CPU a call, PostgreSQL': postgres,
    'CPU a call, Temporal': temporal,
  }
}
