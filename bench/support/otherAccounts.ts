// node otherAccounts.ts JSON sends small requests, one after the other, and measures how long each answer takes. It
// is a process of its own, because the process that sends the load is too busy to measure. The argument is a list of
// `OtherAccount`. When its parent asks, it sends an `OthersReport` about the time since it was last asked.
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { ask } from './load.ts'
import { percentile } from './runBench.ts'
import { tell } from './script.ts'

export type OtherAccount = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly everyMs: number
  /** The path that it asks for. Without one, it submits `body` and asks for the new task. */
  readonly path?: string
  readonly body?: string
}

export type OthersReport = {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
  /** How often each status was answered. */
  readonly statuses: Readonly<Record<string, number>>
}

/** The first answers wait for code to be compiled, here and in the service. */
const warmUp = 20

const accounts: readonly OtherAccount[] = JSON.parse(process.argv[2] ?? '[]')
const agent = new Agent({ pipelining: 1 })
let samplesMs: number[] = []
let statuses: Record<string, number> = {}

async function timedText(account: OtherAccount, path: string, body?: string): Promise<string> {
  const sentAtMs = performance.now()
  const sent = body === undefined ? {} : { method: 'POST' as const, body }
  const answer = await ask(agent, account.url + path, { ...sent, headers: account.headers })
  samplesMs.push(performance.now() - sentAtMs)
  statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
  return answer.text
}

async function once(account: OtherAccount): Promise<void> {
  if (account.path !== undefined) return void (await timedText(account, account.path))
  const accepted = await timedText(account, '/v1/images/tasks', account.body)
  const { task_id: taskId }: { readonly task_id?: string } = JSON.parse(accepted)
  if (taskId !== undefined) await timedText(account, `/v1/tasks/${taskId}`)
}

async function repeat(account: OtherAccount): Promise<void> {
  await sleep(randomInt(account.everyMs))
  let dueAtMs = performance.now()
  for (;;) {
    await once(account)
    dueAtMs = Math.max(dueAtMs + account.everyMs, performance.now())
    await sleep(Math.max(0, dueAtMs - performance.now()))
  }
}

function report(): OthersReport {
  const sample = samplesMs
  const seen = statuses
  samplesMs = []
  statuses = {}
  return {
    p50Ms: percentile(sample, 0.5),
    p99Ms: percentile(sample, 0.99),
    longestMs: percentile(sample, 1),
    statuses: seen,
  }
}

process.once('disconnect', () => process.exit())
process.on('message', () => tell(report()))
const [first] = accounts
if (first !== undefined) for (let warm = 0; warm < warmUp; warm += 1) await once(first)
report()
tell('ready')
await Promise.all(accounts.map(repeat))
