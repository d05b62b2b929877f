import { setTimeout as sleep } from 'node:timers/promises'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'
import type { Seeded } from '../seeded.ts'
import { createSeeded } from '../seeded.ts'
import type { TestService } from '../service/testService.ts'
import { runChaosClient } from './chaosClient.ts'
import type { ChaosFault } from './chaosFaults.ts'
import { brokenInvariants } from './chaosInvariants.ts'
import type { ChaosRequest } from './chaosRequest.ts'
import { chaosRequest } from './chaosRequest.ts'

export type ChaosOptions = {
  readonly service: TestService
  readonly seed: number
  readonly tasks: number
  /** Clients at once; each takes the next request when its last one has ended. */
  readonly clients: number
  /** Faults strike for so long, with pauses of up to `pauseMs` between them; then all heals. */
  readonly strikeMs: number
  readonly pauseMs: number
  /** From the last fault until everything has ended. */
  readonly drainMs: number
  readonly faults: (chance: Seeded) => readonly ChaosFault[]
}

export type ChaosReport = {
  /** Invariants that were broken, each with the request it was seen at; empty is the promise kept. */
  readonly broken: readonly string[]
  readonly figures: Readonly<Record<string, unknown>>
}

const poorCredits = 700
const checkMs = 500

/** A seeded driver, faults, healing, and the reckoning (research reliability.md section 2). */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { service, seed, tasks } = options
  const chance = createSeeded(seed)
  const accounts = [
    await service.account(),
    await service.account(),
    await service.account(poorCredits),
  ]
  const requests = Array.from({ length: tasks }, (_, i) => chaosRequest(i, accounts, chance))
  const over = new AbortController()
  const broken = new Set<string>()
  const books = watchBooks(service, over.signal, broken)
  const clients = drive(options, requests, over.signal)
  const struck = await strike(options)
  const healedAt = performance.now()
  await Promise.race([clients, sleep(options.drainMs, undefined, { ref: false })])
  const drainedMs = Math.round(performance.now() - healedAt)
  await untilQuiet(service, options.drainMs - drainedMs)
  over.abort()
  await Promise.all([clients, books])
  const end = await brokenInvariants(service, requests)
  for (const one of end.broken) broken.add(one)
  for (const one of await verifyLedger(service.pool)) broken.add(`M: ${JSON.stringify(one)}`)
  const { recovered } = end
  return {
    broken: [...broken],
    figures: { seed, struck, drainedMs, recovered, ...figuresOf(service, requests) },
  }
}

async function drive(
  { service, clients, seed }: ChaosOptions,
  requests: readonly ChaosRequest[],
  over: AbortSignal,
): Promise<void> {
  const chance = createSeeded(seed + 1)
  const url = () => chance.pick(service.apis).url
  const left = [...requests]
  const run = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      await runChaosClient({ url, chance, over }, next)
    }
  }
  await Promise.all(Array.from({ length: clients }, run))
}

async function strike(options: ChaosOptions): Promise<Readonly<Record<string, number>>> {
  const chance = createSeeded(options.seed + 2)
  const faults = options.faults(chance)
  const counts: Record<string, number> = {}
  const endsAt = performance.now() + options.strikeMs
  const struck: Promise<void>[] = []
  while (performance.now() < endsAt) {
    await sleep(chance.between(0, options.pauseMs))
    const fault = chance.pick(faults)
    counts[fault.name] = (counts[fault.name] ?? 0) + 1
    // Not awaited: the next one may strike before this one is mended.
    struck.push(fault.strike())
  }
  await Promise.all(struck)
  return counts
}

/** M1 to M4 in one snapshot, again and again, while everything around breaks. */
async function watchBooks(
  service: TestService,
  over: AbortSignal,
  broken: Set<string>,
): Promise<void> {
  while (!over.aborted) {
    // Without a connection there is nothing to be seen; the next look is soon.
    const violations = await verifyLedger(service.pool).catch(() => [])
    for (const one of violations) broken.add(`M, meanwhile: ${JSON.stringify(one)}`)
    await sleep(checkMs)
  }
}

/** Tasks whose acceptance nobody heard of end too. */
async function untilQuiet({ pool }: TestService, limitMs: number): Promise<void> {
  const endsAt = performance.now() + limitMs
  while (performance.now() < endsAt) {
    const live = await pool.query(`select 1 from task where completed_at is null limit 1`)
    if (live.rowCount === 0) return
    await sleep(checkMs)
  }
}

function figuresOf({ simulator }: TestService, requests: readonly ChaosRequest[]) {
  const ends = requests.map(({ taskId, seen }) => {
    const last = seen.at(-1)
    if (taskId === undefined) return 'refused'
    return last?.status === 'failed' ? `failed ${last.error?.code}` : (last?.status ?? 'unseen')
  })
  const calls = simulator.calls()
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
