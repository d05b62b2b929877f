import { defined } from '../../src/domain/defined.ts'
import { peakMiB } from '../../test/support/service/processUsage.ts'
import type { ServiceOptions } from '../../test/support/service/testService.ts'
import type { BenchService } from '../support/benchService.ts'
import type { BenchWorld, Generation } from '../support/benchWorld.ts'
import { generationShot, imageBytes } from '../support/benchWorld.ts'
import type { BenchCase, Figure, Goal } from '../support/cases.ts'
import { figure } from '../support/cases.ts'
import type { Load, Shot } from '../support/load.ts'
import { loadFor, loadOf } from '../support/load.ts'
import { cpuMs } from '../support/processes.ts'
import type { Bench } from '../support/runBench.ts'

/** How many synchronous calls are made. */
type Calls = {
  /** The service of the case, instead of the shared one. */
  readonly own?: ServiceOptions
  readonly image?: Generation
  /** The calls come from so many accounts in turn. Default 1. */
  readonly accounts?: number
  /** So many calls, instead of as many as are answered in ten seconds. */
  readonly count?: number
  readonly goals?: Readonly<Record<string, Goal>>
}

const atMost = (most: number) => ({ atMost: most })
const atLeast = (least: number) => ({ atLeast: least })
const large = { bytes: imageBytes.large }

export const synchronous: readonly BenchCase[] = [
  calls('sync-1', 'one at a time, 4 KiB', 1, { goals: { p50: atMost(9) } }),
  calls('sync-1-1mib', 'one at a time, 1 MiB', 1, { image: large }),
  calls('sync-20', '20 connections, 4 KiB', 20, {
    goals: { calls: atLeast(300), 'CPU a call': atMost(5) },
  }),
  calls('sync-20-accounts', '20 connections of 20 accounts, 4 KiB', 20, { accounts: 20 }),
  calls('sync-20-1mib', '20 connections, 1 MiB', 20, {
    image: large,
    goals: { calls: atLeast(90), API: atMost(350), worker: atMost(350) },
  }),
  calls('sync-two', '20 connections, 4 KiB, two APIs and two workers', 20, {
    own: { apis: 2, workers: 2 },
  }),
  calls('sync-200', '200 callers at once of a model that takes 2 s', 200, {
    image: { latencyMs: 2_000 },
    count: 1_000,
    goals: { calls: atLeast(80), p99: atMost(2_600) },
  }),
  {
    ...calls('slow', '3,000 callers at once of a model that takes 20 s (--quick: 300)', 3_000, {
      own: { channel: { concurrencyMax: 5_000, timeoutSeconds: 300 } },
      image: { latencyMs: 20_000 },
      count: 3_000,
      goals: { p50: atMost(20_500), p99: atMost(22_000), API: atMost(400), worker: atMost(400) },
    }),
    long: true,
  },
]

const failuresShown = 3

/** A case of synchronous calls from `connections` clients, each of which waits for its answer. */
function calls(name: string, what: string, connections: number, given: Calls): BenchCase {
  const { own, image = {}, accounts = 1, count, goals = {} } = given
  const round = async (world: BenchWorld) => {
    const { quick, shared, startService } = world
    const service = own === undefined ? await shared() : await startService(own)
    const shot = await shotOf(service, image, accounts)
    let failed = 0
    const counted: Shot = (agent, n) =>
      shot(agent, n).catch((error: unknown) => {
        if (failed < failuresShown) console.error(String(error))
        failed += 1
      })
    const run = () => {
      if (count === undefined) return loadFor(quick ? 3 : 10, connections, counted)
      const part = quick ? 0.1 : 1
      return loadOf(count * part, connections * part, counted)
    }
    try {
      // The processes of a service of its own have not compiled their code yet.
      if (own !== undefined) await loadOf(quick ? 200 : 1_000, 20, generationShot(service))
      const figures = await costed(world, service, run)
      figures.push(figure('failed', failed, '', atMost(0)))
      return figures.map((each) => ({ ...defined({ goal: goals[each.name] }), ...each }))
    } finally {
      if (own !== undefined) await service.stop()
    }
  }
  return { name, title: `synchronous, ${what}`, round }
}

/** Returns a shot that makes its calls at the APIs of a service in turn, for accounts in turn. */
async function shotOf(service: BenchService, image: Generation, accounts: number): Promise<Shot> {
  const more = Array.from({ length: accounts - 1 }, async () => {
    const { secret } = await service.account(1_000_000_000)
    return { ...service.headers, authorization: `Bearer ${secret}` }
  })
  const shots = [service.headers, ...(await Promise.all(more))].flatMap((headers) =>
    service.apis.map(({ url }) => generationShot({ url, headers }, image)),
  )
  return async (agent, n) => shots[n % shots.length]?.(agent, n)
}

/** Runs a load. Returns its figures, the CPU time of each part for a call, and the memory of API and worker. */
async function costed(
  { pidOf }: Bench,
  { apis, workers }: BenchService,
  work: () => Promise<Load>,
): Promise<Figure[]> {
  const parts = {
    API: apis.map(({ pid }) => pid),
    worker: workers.map(({ pid }) => pid),
    PostgreSQL: [pidOf('postgres')],
    Temporal: [pidOf('temporal')],
  }
  const before = Object.values(parts).map(cpuMs)
  const load = await work()
  const cpu = Object.values(parts).map((pids, n) => (cpuMs(pids) - (before[n] ?? 0)) / load.count)
  return [
    figure('calls', load.perSecond, 'per s'),
    figure('p50', load.p50Ms, 'ms'),
    figure('p99', load.p99Ms, 'ms'),
    figure(
      'CPU a call',
      cpu.reduce((sum, ms) => sum + ms, 0),
      'ms',
    ),
    ...Object.keys(parts).map((part, n) => figure(`  of which ${part}`, cpu[n] ?? NaN, 'ms')),
    figure('API', peakMiB(parts.API[0] ?? 0), 'MiB'),
    figure('worker', peakMiB(parts.worker[0] ?? 0), 'MiB'),
  ]
}
