import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { percentile } from './runBench.ts'

export type Load = {
  /** Requests per second. */
  readonly perSecond: number
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One request. Throws when the answer is not what the case expects. */
export type Shot = (agent: Agent, n: number) => Promise<unknown>

const requestMsMax = 300_000
const connectMsMax = 60_000

/** Sends requests for `seconds`, from `connections` clients that each wait for their answer. */
export function loadFor(seconds: number, connections: number, shot: Shot): Promise<Load> {
  const endsAtMs = performance.now() + seconds * 1000
  return loadWhile(() => performance.now() < endsAtMs, connections, shot)
}

/** Sends exactly `count` requests from `connections` clients. */
export function loadOf(count: number, connections: number, shot: Shot): Promise<Load> {
  return loadWhile((sent) => sent < count, connections, shot)
}

function loadWhile(more: (sent: number) => boolean, clients: number, shot: Shot): Promise<Load> {
  let sent = 0
  return withAgent(clients, shot, async (once) => {
    const client = async () => {
      while (more(sent)) await once((sent += 1))
    }
    await Promise.all(Array.from({ length: clients }, client))
  })
}

/** Starts `perSecond` requests each second, whether earlier ones were answered or not. */
export function loadAtRate(perSecond: number, seconds: number, shot: Shot): Promise<Load> {
  return withAgent(128, shot, async (once) => {
    const shots: Promise<void>[] = []
    const startedAtMs = performance.now()
    while (shots.length < perSecond * seconds) {
      const due = ((performance.now() - startedAtMs) / 1000) * perSecond
      while (shots.length < Math.min(due, perSecond * seconds)) shots.push(once(shots.length))
      await sleep(2)
    }
    await Promise.all(shots)
  })
}

async function withAgent(
  connections: number,
  shot: Shot,
  work: (once: (n: number) => Promise<void>) => Promise<void>,
): Promise<Load> {
  const timeouts = { headersTimeout: requestMsMax, bodyTimeout: requestMsMax }
  const agent = new Agent({ connections, connect: { timeout: connectMsMax }, ...timeouts })
  const ms: number[] = []
  const startedAtMs = performance.now()
  try {
    await work(async (n) => {
      const sentAtMs = performance.now()
      await shot(agent, n)
      ms.push(performance.now() - sentAtMs)
    })
  } finally {
    await agent.close()
  }
  const perSecond = (ms.length / (performance.now() - startedAtMs)) * 1000
  const [p50Ms, p99Ms] = [percentile(ms, 0.5), percentile(ms, 0.99)]
  return { perSecond, count: ms.length, p50Ms, p99Ms }
}

/** What a request sends. It is a POST when it has a body. */
export type Sent = {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Sends one request, and returns the answer with its text. */
export async function ask(agent: Agent, url: string, { headers = {}, body }: Sent = {}) {
  const answer = await request(url, {
    dispatcher: agent,
    method: body === undefined ? 'GET' : 'POST',
    headers,
    body: body ?? null,
  })
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

/** Sends one request, reads the whole answer, and throws unless it has the expected status. */
export async function shoot(agent: Agent, url: string, sent: Sent = {}, status = 200) {
  const answer = await ask(agent, url, sent)
  if (answer.status === status) return
  throw new Error(`${url}: ${answer.status} ${answer.text.slice(0, 500)}`)
}

/** Downloads a file without keeping it. Throws unless the status is 200. */
export async function download(agent: Agent, url: string): Promise<void> {
  const { statusCode, body } = await request(url, { dispatcher: agent })
  for await (const _ of body);
  if (statusCode !== 200) throw new Error(`GET ${url}: ${statusCode}`)
}
