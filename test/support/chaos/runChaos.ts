import { setTimeout as sleep } from 'node:timers/promises'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'
import { runChaosClient } from './chaosClient.ts'
import type { FaultRound } from './chaosFaults.ts'
import { strikeFaults } from './chaosFaults.ts'
import { brokenInvariants } from './chaosInvariants.ts'
import type { ChaosRequest } from './chaosRequest.ts'
import { chaosRequest } from './chaosRequest.ts'
import type { SyncChaosRequest } from './syncChaos.ts'
import { brokenSyncInvariants, runSyncChaosClient, syncChaosRequest } from './syncChaos.ts'
import { createSeeded } from '../seeded.ts'
import type { TestService } from '../service/testService.ts'
import { runParallel } from '../timing.ts'

export type ChaosOptions = FaultRound & {
  readonly service: TestService
  readonly tasks: number
  /** Concurrent clients. Each takes the next request when its last task has ended. */
  readonly clients: number
  /** The time from the last fault in which all tasks must end. */
  readonly drainMs: number
}

export type ChaosReport = {
  /** One line per violation of an invariant. */
  readonly broken: readonly string[]
  readonly figures: Readonly<Record<string, unknown>>
}

const poorCredits = 700
const checkMs = 500

/** Runs clients and faults from a seed, waits until all tasks have ended, then checks the invariants. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { service, seed, tasks } = options
  const chance = createSeeded(seed)
  const accounts = [
    await service.account(),
    await service.account(),
    await service.account(poorCredits),
  ]
  const half = Math.ceil(tasks / 2)
  const requests = Array.from({ length: half }, (_, i) => chaosRequest(i, accounts, chance))
  const syncRequests = Array.from({ length: tasks - half }, (_, i) =>
    syncChaosRequest(i, accounts, chance),
  )
  const over = new AbortController()
  const broken = new Set<string>()
  const ledger = watchLedger(service, over.signal, broken)
  const clients = drive(options, requests, syncRequests, over.signal)
  const struck = await strikeFaults(options)
  const faultsEndedAtMs = performance.now()
  await Promise.race([clients, sleep(options.drainMs, undefined, { ref: false })])
  const drainedMs = Math.round(performance.now() - faultsEndedAtMs)
  await untilQuiet(service, options.drainMs - drainedMs)
  over.abort()
  await Promise.all([clients, ledger])
  const end = await brokenInvariants(service, requests)
  for (const one of end.broken) broken.add(one)
  const calls = await service.simulator.calls()
  for (const one of await brokenSyncInvariants(service.pool, syncRequests, calls)) broken.add(one)
  for (const one of await verifyLedger(service.pool))
    broken.add(`the ledger at the end: ${JSON.stringify(one)}`)
  const { recovered } = end
  return {
    broken: [...broken],
    figures: {
      seed,
      struck,
      drainedMs,
      recovered,
      ...(await figuresOf(service, requests)),
      synchronous: countsOf(syncRequests.flatMap(({ answers }) => answers.map(String))),
    },
  }
}

/** Runs the clients of both kinds of requests, each kind from half of the clients. */
async function drive(
  { service, clients, seed }: ChaosOptions,
  requests: readonly ChaosRequest[],
  syncRequests: readonly SyncChaosRequest[],
  over: AbortSignal,
): Promise<void> {
  const chance = createSeeded(seed + 1)
  const url = () => chance.pick(service.apis).url
  const half = Math.ceil(clients / 2)
  await Promise.all([
    runEach(requests, half, (request) => runChaosClient({ url, chance, over }, request)),
    runEach(syncRequests, half, (request) => runSyncChaosClient({ url, over }, request)),
  ])
}

async function runEach<Item>(
  items: readonly Item[],
  parallel: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values()
  await runParallel(items.length, parallel, async () => {
    const next = left.next()
    if (next.done !== true) await work(next.value)
  })
}

/** Verifies the ledger in one snapshot, repeatedly while faults strike. */
async function watchLedger(
  service: TestService,
  over: AbortSignal,
  broken: Set<string>,
): Promise<void> {
  while (!over.aborted) {
    // A fault may have cut the connection. The next check follows soon.
    const violations = await verifyLedger(service.pool).catch(() => [])
    for (const one of violations) broken.add(`the ledger under faults: ${JSON.stringify(one)}`)
    await sleep(checkMs)
  }
}

/** Waits until no task is live, also for tasks whose client never got the 202. */
async function untilQuiet({ pool }: TestService, limitMs: number): Promise<void> {
  const endsAtMs = performance.now() + limitMs
  while (performance.now() < endsAtMs) {
    const live = await pool.query(`select 1 from task where completed_at is null limit 1`)
    if (live.rowCount === 0) return
    await sleep(checkMs)
  }
}

async function figuresOf({ simulator }: TestService, requests: readonly ChaosRequest[]) {
  const ends = requests.map(({ taskId, seen }) => {
    const last = seen.at(-1)
    if (taskId === undefined) return 'refused'
    return last?.status === 'failed' ? `failed ${last.error?.code}` : (last?.status ?? 'unseen')
  })
  const calls = await simulator.calls()
  const answers = requests.flatMap((request) => request.answers)
  return {
    ends: countsOf(ends),
    submits: countsOf(answers.map((one) => (one.kind === 'none' ? 'none' : String(one.status)))),
    calls: calls.length,
    billed: calls.filter(({ billed }) => billed).length,
  }
}

function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
