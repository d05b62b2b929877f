import { Agent, request } from 'undici'
import { defined } from '../../src/domain/defined.ts'
import { percentile } from './runBench.ts'

export type Load = {
  /** Requests per second. */
  readonly perSecond: number
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One request. Throws when the answer is not what the case expects. */
export type Shot = (agent: Agent, n: number) => Promise<void>

const requestMsMax = 120_000

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
  const agent = new Agent({ connections, pipelining: 1, headersTimeout: requestMsMax })
  const ms: number[] = []
  let sent = 0
  const startedAtMs = performance.now()
  const client = async () => {
    while (more()) {
      sent += 1
      const sentAtMs = performance.now()
      await shot(agent, sent)
      ms.push(performance.now() - sentAtMs)
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, client))
  } finally {
    await agent.close()
  }
  const seconds = (performance.now() - startedAtMs) / 1000
  return {
    perSecond: ms.length / seconds,
    count: ms.length,
    p50Ms: percentile(ms, 0.5),
    p99Ms: percentile(ms, 0.99),
  }
}

/** Starts `perSecond` requests each second, whether earlier ones were answered or not. Returns their p99. */
export async function loadAtRate(
  perSecond: number,
  seconds: number,
  shot: Shot,
): Promise<{ readonly p99Ms: number }> {
  const agent = new Agent({ connections: 128, pipelining: 1, headersTimeout: requestMsMax })
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
  return { p99Ms: percentile(ms, 0.99) }
}

type Sent = {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly status?: number
}

/** Sends one request, reads the whole answer, and throws unless it has the expected status (200). */
export async function shoot(agent: Agent, url: string, sent: Sent = {}): Promise<string> {
  const { method = 'GET', headers = {}, body, status = 200 } = sent
  const answer = await request(url, {
    dispatcher: agent,
    method,
    headers,
    ...defined({ body }),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== status) {
    throw new Error(`${method} ${url}: ${answer.statusCode} ${text.slice(0, 500)}`)
  }
  return text
}
