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
export async function loadFor(seconds: number, connections: number, shot: Shot): Promise<Load> {
  const endsAtMs = performance.now() + seconds * 1000
  return run(connections, shot, () => performance.now() < endsAtMs)
}

/** Sends exactly `count` requests from `connections` clients. */
export async function loadOf(count: number, connections: number, shot: Shot): Promise<Load> {
  let left = count
  return run(connections, shot, () => {
    left -= 1
    return left >= 0
  })
}

async function run(connections: number, shot: Shot, more: () => boolean): Promise<Load> {
  const agent = createAgent(connections)
  const ms: number[] = []
  const startedAtMs = performance.now()
  const client = async () => {
    while (more()) {
      const sentAtMs = performance.now()
      await shot(agent, ms.length)
      ms.push(performance.now() - sentAtMs)
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, client))
  } finally {
    await agent.close()
  }
  return loadFrom(ms, performance.now() - startedAtMs)
}

/** Starts `perSecond` requests each second, whether earlier ones were answered or not. */
export async function loadAtRate(perSecond: number, seconds: number, shot: Shot): Promise<Load> {
  const agent = createAgent(128)
  const ms: number[] = []
  const shots: Promise<void>[] = []
  const startedAtMs = performance.now()
  const total = perSecond * seconds
  const one = async (n: number) => {
    const sentAtMs = performance.now()
    await shot(agent, n)
    ms.push(performance.now() - sentAtMs)
  }
  while (shots.length < total) {
    const due = ((performance.now() - startedAtMs) / 1000) * perSecond
    while (shots.length < Math.min(due, total)) shots.push(one(shots.length))
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await Promise.all(shots)
  await agent.close()
  return loadFrom(ms, performance.now() - startedAtMs)
}

function createAgent(connections: number): Agent {
  const timeouts = { headersTimeout: requestMsMax, bodyTimeout: requestMsMax }
  return new Agent({ connections, pipelining: 1, connect: { timeout: connectMsMax }, ...timeouts })
}

function loadFrom(ms: readonly number[], tookMs: number): Load {
  return {
    perSecond: (ms.length / tookMs) * 1000,
    count: ms.length,
    p50Ms: percentile(ms, 0.5),
    p99Ms: percentile(ms, 0.99),
  }
}

export type Sent = {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly status?: number
}

/** Sends one request, reads the whole answer, and throws unless it has the expected status (200). */
export async function shoot(agent: Agent, url: string, sent: Sent = {}): Promise<string> {
  const { status, text } = await ask(agent, url, sent)
  if (status === (sent.status ?? 200)) return text
  throw new Error(`${sent.method ?? 'GET'} ${url}: ${status} ${text.slice(0, 500)}`)
}

/** Sends one request, and returns the status and the text of the answer. */
export async function ask(
  agent: Agent,
  url: string,
  { method = 'GET', headers = {}, body }: Sent = {},
) {
  const answer = await request(url, { dispatcher: agent, method, headers, body: body ?? null })
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: await answer.body.text(),
  }
}

/** Downloads a file without keeping it. Returns its bytes, and throws unless the status is 200. */
export async function download(agent: Agent, url: string): Promise<number> {
  const { statusCode, body } = await request(url, { dispatcher: agent })
  let bytes = 0
  for await (const chunk of body) bytes += chunk.length
  if (statusCode !== 200) throw new Error(`GET ${url}: ${statusCode}`)
  return bytes
}
