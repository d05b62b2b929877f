import { setTimeout as sleep } from 'node:timers/promises'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'
import { runChaosClient } from './chaosClient.ts'
import type { FaultRound } from './chaosFaults.ts'
import { strikeFaults } from './chaosFaults.ts'
import { brokenInvariants } from './chaosInvariants.ts'
import type { ChaosRequest } from './chaosRequest.ts'
import { chaosRequest } from './chaosRequest.ts'
import { startChaosWebhooks } from './chaosWebhooks.ts'
import { createSeeded } from '../seeded.ts'
import type { TestService } from '../service/testService.ts'
import { runParallel } from '../timing.ts'

export type ChaosReport = {
  /** One line per violation of an invariant. */
  readonly broken: readonly string[]
  readonly figures: Readonly<Record<string, unknown>>
}

const poorCredits = 700
const checkMs = 500

/** Runs clients and faults from a seed, waits until all tasks have ended, then checks the invariants. */
export async function runChaos(
  options: FaultRound & {
    readonly service: TestService
    readonly tasks: number
    /** Concurrent clients. Each takes the next request when its last task has ended. */
    readonly clients: number
    /** The time from the last fault in which all tasks must end and their ends be delivered. */
    readonly drainMs: number
  },
): Promise<ChaosReport & { readonly misdelivered: readonly string[] }> {
  const { service, seed, tasks, strikeMs, drainMs } = options
  const chance = createSeeded(seed)
  const accounts = [
    await service.account(),
    await service.account(),
    await service.account(),
    await service.account(poorCredits),
  ]
  const webhooks = await startChaosWebhooks(service, accounts, createSeeded(seed + 3))
  const requests = Array.from({ length: tasks }, (_, i) => chaosRequest(i, accounts, chance))
  const over = new AbortController()
  const broken = new Set<string>()
  const ledger = watchLedger(service, over.signal, broken)
  const random = createSeeded(seed + 1)
  const deps = { url: () => random.pick(service.apis).url, chance: random, over: over.signal }
  const clients = runParallel(tasks, options.clients, async (n) => {
    const request = requests[n]
    if (request !== undefined) await runChaosClient(deps, request)
  })
  const deleted = sleep(strikeMs / 2).then(webhooks.deleteFirst)
  const struck = await strikeFaults(options)
  const endsAtMs = performance.now() + drainMs
  const leftMs = () => Math.max(0, endsAtMs - performance.now())
  await Promise.race([clients, sleep(drainMs, undefined, { ref: false })])
  await untilQuiet(service, leftMs())
  over.abort()
  await Promise.all([clients, ledger, deleted])
  const misdelivered = await webhooks.broken(leftMs())
  const drainedMs = Math.round(drainMs - leftMs())
  for (const one of await brokenInvariants(service, requests)) broken.add(one)
  for (const one of await verifyLedger(service.pool)) {
    broken.add(`the ledger at the end: ${JSON.stringify(one)}`)
  }
  await webhooks.close()
  const received = webhooks.received.length
  const figures = { seed, struck, drainedMs, received, ...(await figuresOf(service, requests)) }
  return { broken: [...broken], misdelivered, figures }
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

async function figuresOf({ pool, simulator }: TestService, requests: readonly ChaosRequest[]) {
  const { rows } = await pool.query<{ end: string; count: number }>(
    `select concat_ws(' ', status, failure_code) as end, count(*)::int from task group by 1 order by 1`,
  )
  const answers = requests.flatMap((request) => request.answers)
  return {
    ends: Object.fromEntries(rows.map(({ end, count }) => [end, count])),
    answers: countsOf(answers.map((one) => (one === 'none' ? 'none' : String(one.status)))),
    calls: (await simulator.calls()).length,
  }
}

/** Counts equal names. */
export function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
