// node otherAccounts.ts ACCOUNTS PORT sends small requests of other accounts and measures how long each
// answer takes. It is a process of its own, because the process that sends the load is too busy to measure.
// The accounts are a list of `OtherAccount` as JSON. GET / answers with the milliseconds of each request
// since the last one, by its name.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { defined } from '../../src/domain/defined.ts'
import { ask } from './load.ts'

/** An account that sends one request after the other, `everyMs` apart. */
export type OtherAccount = {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly everyMs: number
  /** Sent by POST. Without it, the request is a GET. */
  readonly body?: string
  /** The path of `url` when the body submits a task: this is asked for it, as a request called `lookup`. */
  readonly lookupUrl?: string
}

/** The first answers wait for code to be compiled, here and in the service. */
const warmUp = 20

const accounts: readonly OtherAccount[] = JSON.parse(process.argv[2] ?? '[]')
const agent = new Agent({ pipelining: 1 })
let samples: Record<string, number[]> = {}

async function send({ name, url, headers, body, lookupUrl }: OtherAccount): Promise<void> {
  const sentAtMs = performance.now()
  const { status, text } = await ask(agent, url, { headers, ...defined({ body }) })
  const isAnswered = status === 200 || status === 202
  const what = isAnswered ? name : `${name} with the answer ${status}`
  ;(samples[what] ??= []).push(performance.now() - sentAtMs)
  if (!isAnswered || lookupUrl === undefined) return
  const { task_id: taskId }: { readonly task_id: string } = JSON.parse(text)
  await send({ name: 'lookup', url: `${lookupUrl}/${taskId}`, headers, everyMs: 0 })
}

async function repeat(account: OtherAccount): Promise<void> {
  await sleep(randomInt(account.everyMs))
  for (;;) {
    const dueAtMs = performance.now() + account.everyMs
    await send(account)
    await sleep(Math.max(0, dueAtMs - performance.now()))
  }
}

for (const account of accounts.slice(0, 3)) {
  for (let warm = 0; warm < warmUp; warm += 1) await send(account)
}
samples = {}
createServer((_request, response) => {
  response.end(JSON.stringify(samples))
  samples = {}
}).listen(Number(process.argv[3]), '127.0.0.1')
await Promise.all(accounts.map(repeat))
