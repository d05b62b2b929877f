import { peakMiB } from '../../test/support/service/processUsage.ts'
import type { ServiceOptions } from '../../test/support/service/testService.ts'
import type { BenchService } from '../support/benchService.ts'
import type { Generation } from '../support/benchWorld.ts'
import { forwardedShot, generationShot, imageBytes } from '../support/benchWorld.ts'
import type { BenchCase, Figure, Goal } from '../support/cases.ts'
import type { Load, Shot } from '../support/load.ts'
import { loadFor, loadOf } from '../support/load.ts'
import { cpuMs } from '../support/processes.ts'
import type { Bench } from '../support/runBench.ts'

/** Synchronous calls from `connections` clients, each of which waits for its answer. */
type Calls = {
  readonly name: string
  readonly what: string
  readonly connections: number
  readonly image?: Generation
  /** The calls come from so many accounts in turn. Default 1. */
  readonly accounts?: number
  /** A service of its own, instead of the shared one. */
  readonly own?: ServiceOptions
  /** So many calls, instead of as many as are answered in ten seconds. */
  readonly count?: number
  readonly long?: true
  readonly goals?: Readonly<Record<string, Goal>>
}

const none = { atMost: 0 }
const large = { bytes: imageBytes.large }
const memory = { API: { atMost: 350 }, worker: { atMost: 350 } }
const all: readonly Calls[] = [
  {
    name: 'sync-1',
    what: 'one at a time, 4 KiB',
    connections: 1,
    goals: { 'added p50': { atMost: 7 } },
  },
  { name: 'sync-1-1mib', what: 'one at a time, 1 MiB', connections: 1, image: large },
  {
    name: 'sync-20',
    what: '20 connections, 4 KiB',
    connections: 20,
    goals: { calls: { atLeast: 300 }, 'CPU a call': { atMost: 5 } },
  },
  { name: 'sync-20-accounts', what: 'of 20 accounts, 4 KiB', connections: 20, accounts: 20 },
  {
    name: 'sync-20-1mib',
    what: '20 connections, 1 MiB',
    connections: 20,
    image: large,
    goals: { calls: { atLeast: 90 }, ...memory },
  },
  {
    name: 'sync-two',
    what: '20 connections, 4 KiB, two APIs and two workers on the same machine',
    connections: 20,
    own: { apis: 2, workers: 2 },
  },
  {
    name: 'sync-200',
    what: '200 callers at once of a model that takes 2 s',
    connections: 200,
    image: { latencyMs: 2_000 },
    count: 1_000,
    goals: { calls: { atLeast: 80 }, p99: { atMost: 2_600 } },
  },
  {
    name: 'slow',
    what: '3,000 callers at once of a model that takes 20 s (300 callers with --quick)',
    connections: 3_000,
    image: { latencyMs: 20_000 },
    count: 3_000,
    own: { channel: { concurrencyMax: 5_000, timeoutSeconds: 300 } },
    long: true,
    goals: {
      p50: { atMost: 20_500 },
      p99: { atMost: 22_000 },
      API: { atMost: 400 },
      worker: { atMost: 400 },
    },
  },
]

export const synchronous: readonly BenchCase[] = all.map(({ name, what, long, ...calls }) => ({
  name,
  title: `synchronous, ${what}`,
  ...(long && { long }),
  round: async (world) => {
    const { quick, shared, startService } = world
    const { connections, image = {}, own, goals = {} } = calls
    const service = own === undefined ? (await shared()).service : await startService(own)
    const shot = await shotOf(service, image, calls.accounts ?? 1)
    let failed = 0
    const counted: Shot = (agent, n) => shot(agent, n).catch(() => (failed += 1))
    const run = (each: Shot, share = 1) => {
      if (calls.count === undefined) return loadFor((quick ? 3 : 10) * share, connections, each)
      const part = quick ? 0.1 : 1
      return loadOf(calls.count * part, Math.ceil(connections * part), each)
    }
    try {
      // The processes of a service of its own have not compiled their code yet.
      if (own !== undefined) await loadOf(quick ? 200 : 1_000, 20, generationShot(service))
      const measured = await costed(world, service, () => run(counted))
      const figures = [...measured, { name: 'failed', value: failed, unit: '', goal: none }]
      if (own !== undefined) return figures.map((each) => withGoal(each, goals))
      const forwarder = await run(forwardedShot((await shared()).floorUrl, image), 0.5)
      const p50 = figures.find((each) => each.name === 'p50')?.value ?? NaN
      const added = { name: 'added p50', value: p50 - forwarder.p50Ms, unit: 'ms' }
      const floor = { name: 'through a forwarder', value: forwarder.perSecond, unit: 'per s' }
      return [...figures, added, floor].map((each) => withGoal(each, goals))
    } finally {
      if (own !== undefined) await service.stop()
    }
  },
}))

function withGoal(figure: Figure, goals: Readonly<Record<string, Goal>>): Figure {
  const goal = goals[figure.name]
  return goal === undefined ? figure : { ...figure, goal }
}

/** Returns a shot that makes its calls at the APIs of a service in turn, for accounts in turn. */
async function shotOf(service: BenchService, image: Generation, accounts: number): Promise<Shot> {
  const more = await Promise.all(
    Array.from({ length: accounts - 1 }, async () => {
      const { secret } = await service.account(1_000_000_000)
      return { ...service.headers, authorization: `Bearer ${secret}` }
    }),
  )
  const shots = [service.headers, ...more].flatMap((headers) =>
    service.apis.map(({ url }) => generationShot({ url, headers }, image)),
  )
  return async (agent, n) => shots[n % shots.length]?.(agent, n)
}

/** Runs a load and returns its figures, the CPU time of each part for one call, and the memory of API and worker. */
async function costed(
  { pidOf }: Bench,
  { apis, workers }: BenchService,
  work: () => Promise<Load>,
): Promise<readonly Figure[]> {
  const parts = {
    API: apis.map(({ pid }) => pid),
    worker: workers.map(({ pid }) => pid),
    PostgreSQL: [pidOf('postgres')],
    Temporal: [pidOf('temporal')],
  }
  const before = Object.values(parts).map(cpuMs)
  const load = await work()
  const cpu = Object.entries(parts).map(([name, pids], n) => {
    const value = (cpuMs(pids) - (before[n] ?? 0)) / load.count
    return { name: `CPU a call, ${name}`, value, unit: 'ms' }
  })
  return [
    { name: 'calls', value: load.perSecond, unit: 'per s' },
    { name: 'p50', value: load.p50Ms, unit: 'ms' },
    { name: 'p99', value: load.p99Ms, unit: 'ms' },
    { name: 'CPU a call', value: cpu.reduce((sum, { value }) => sum + value, 0), unit: 'ms' },
    ...cpu,
    { name: 'API', value: peakMiB(parts.API[0] ?? 0), unit: 'MiB' },
    { name: 'worker', value: peakMiB(parts.worker[0] ?? 0), unit: 'MiB' },
  ]
}
