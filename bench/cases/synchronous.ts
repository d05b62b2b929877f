import { formBody, formType } from '../../test/support/clients/requestBodies.ts'
import { editParts } from '../../test/support/clients/syncCalls.ts'
import { paddedPng } from '../../test/support/images.ts'
import { mebibyte, peakMiB } from '../../test/support/service/processUsage.ts'
import type { ServiceOptions } from '../../test/support/service/testService.ts'
import type { BenchCase, BenchService, BenchWorld, Generation } from '../support/benchWorld.ts'
import { generationBody, generationShot, imageBytes } from '../support/benchWorld.ts'
import type { Load, Shot } from '../support/load.ts'
import { loadFor, loadOf, shoot } from '../support/load.ts'
import { cpuMs } from '../support/processes.ts'
import type { Goal } from '../support/runBench.ts'

/** How many synchronous calls are made. */
type Calls = {
  /** The service of the case, instead of the shared one. */
  readonly own?: ServiceOptions
  readonly image?: Generation
  /** The calls edit an image of so many bytes. */
  readonly editedBytes?: number
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
  calls('edit-4mib', 'one at a time, an edit of 4 MiB', 1, { editedBytes: 4 * mebibyte }),
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
  const { own, image, editedBytes, accounts = 1, count, goals = {} } = given
  const run = async (world: BenchWorld) => {
    const { quick, shared, startService, figure } = world
    const service = own === undefined ? await shared() : await startService(own)
    const shot =
      editedBytes === undefined
        ? await shotOf(service, image, accounts)
        : editShot(service, editedBytes)
    let failed = 0
    const counted: Shot = (agent, n) =>
      shot(agent, n).catch((error: unknown) => {
        if (failed < failuresShown) console.error(String(error))
        failed += 1
      })
    const part = quick ? 0.1 : 1
    const load = () =>
      count === undefined
        ? loadFor(quick ? 3 : 10, connections, counted)
        : loadOf(count * part, connections * part, counted)
    try {
      // The processes of a service of its own have not compiled their code yet.
      if (own !== undefined) await loadOf(quick ? 200 : 1_000, 20, generationShot(service))
      await showCosts(world, service, goals, load)
      figure('failed', failed, '', atMost(0))
    } finally {
      if (own !== undefined) await service.stop()
    }
  }
  return { name, title: `synchronous, ${what}`, run }
}

/** Returns a shot that makes its calls for accounts in turn. */
async function shotOf(
  service: BenchService,
  image: Generation | undefined,
  accounts: number,
): Promise<Shot> {
  const more = Array.from({ length: accounts - 1 }, async () => {
    const { secret } = await service.account(1_000_000_000)
    return { ...service.headers, authorization: `Bearer ${secret}` }
  })
  const shots = [service.headers, ...(await Promise.all(more))].map((headers) =>
    generationShot({ url: service.url, headers }, image),
  )
  return async (agent, n) => shots[n % shots.length]?.(agent, n)
}

/** Returns a shot that edits one image, in a form as OpenAI's SDKs send it. */
function editShot({ url, headers }: BenchService, bytes: number): Shot {
  const body = formBody(editParts(JSON.parse(generationBody()), paddedPng(bytes, 0)))
  const sent = { headers: { ...headers, 'content-type': formType }, body }
  return (agent) => shoot(agent, `${url}/v1/images/edits`, sent)
}

/** Runs a load. Shows its figures, the CPU time of each part for a call, and the memory of API and worker. */
async function showCosts(
  { pidOf, figure }: BenchWorld,
  { apis, workers }: BenchService,
  goals: Readonly<Record<string, Goal>>,
  load: () => Promise<Load>,
): Promise<void> {
  const parts = {
    API: apis.map(({ pid }) => pid),
    worker: workers.map(({ pid }) => pid),
    PostgreSQL: [pidOf('postgres')],
    Temporal: [pidOf('temporal')],
  }
  const before = Object.values(parts).map(cpuMs)
  const { perSecond, p50Ms, p99Ms, count } = await load()
  const cpu = Object.values(parts).map((pids, n) => (cpuMs(pids) - (before[n] ?? 0)) / count)
  const show = (name: string, value: number, unit: string) => figure(name, value, unit, goals[name])
  show('calls', perSecond, 'per s')
  show('p50', p50Ms, 'ms')
  show('p99', p99Ms, 'ms')
  const all = cpu.reduce((sum, ms) => sum + ms, 0)
  show('CPU a call', all, 'ms')
  for (const [n, part] of Object.keys(parts).entries())
    show(`  of which ${part}`, cpu[n] ?? 0, 'ms')
  show('API', peakMiB(parts.API[0] ?? 0), 'MiB')
  show('worker', peakMiB(parts.worker[0] ?? 0), 'MiB')
}
