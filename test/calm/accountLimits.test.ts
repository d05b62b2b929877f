import { describe, expect, it } from 'vitest'
import type { NewLimits } from '../../src/store/accounts/setLimits.ts'
import { setLimits } from '../../src/store/accounts/setLimits.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { content, edit, generate } from '../support/clients/syncCalls.ts'
import { rowCountOf } from '../support/database/testAccept.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()
const many = Array.from({ length: 64 }, (_, n) => n)

/** A client at each API of an account with limits. */
async function openAccount(limits: NewLimits) {
  const { accountId, name, secret } = await service.account(1_000_000)
  await setLimits(service.pool, name, limits)
  const [client, other] = [
    createClient(service.urls[0], secret),
    createClient(service.urls[1], secret),
  ]
  const account = async () => {
    const { authorization } = client
    const answer = await fetch(`${service.url}/v1/account`, { headers: { authorization } })
    return Object(await answer.json())
  }
  return { accountId, client, other, account }
}

/** One call of each route that makes a task, and of the two under `/v1`. */
function callsOf(client: Client, prompt: string): readonly Promise<Response>[] {
  const contents = { contents: [{ parts: [{ text: prompt }] }] }
  const v1 = (method: string) =>
    fetch(`${client.url}/v1/models/familya-3-pro-image:${method}`, {
      method: 'POST',
      headers: { authorization: client.authorization, 'content-type': 'application/json' },
      body: JSON.stringify(contents),
    })
  return [
    client.submit(generateBody({ prompt })),
    generate(client, { prompt }),
    edit(client, { prompt }),
    content(client, 'generateContent', contents),
    content(client, 'asyncGenerateContent', contents),
    v1('generateContent'),
    v1('asyncGenerateContent'),
  ]
}

function rateLimitOf({ headers }: Response) {
  return [headers.get('ratelimit-policy'), headers.get('ratelimit')]
}

function statusesOf(answers: readonly Response[]): Readonly<Record<number, number>> {
  const groups = Map.groupBy(answers, ({ status }) => status)
  return Object.fromEntries([...groups].map(([status, { length }]) => [status, length]))
}

describe('beyond the limit of requests', () => {
  it('every route is 429, names the limit, says when the next request fits, and writes nothing [rate-2, rate-3, rate-7]', async () => {
    const { client, accountId, account } = await openAccount({
      requests: { limit: 1, period: 'hour' },
    })
    const first = await client.submit(generateBody())
    expect([first.status, ...rateLimitOf(first)]).toEqual([
      202,
      '"requests";q=1;w=3600',
      '"requests";r=0;t=3600',
    ])
    const before = await account()
    for (const answer of await Promise.all(callsOf(client, 'limits refused'))) {
      expect(answer.status).toBe(429)
      expect(await errorOf(answer)).toEqual({
        message: 'The limit of requests of this account is 1 per hour.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      })
      expect(answer.headers.get('retry-after')).toMatch(/^3[56]\d\d$/)
      expect(answer.headers.get('x-should-retry')).toBeNull()
      expect(rateLimitOf(answer)[0]).toBe('"requests";q=1;w=3600')
      const t = answer.headers.get('retry-after')
      expect(rateLimitOf(answer)[1]).toBe(`"requests";r=0;t=${t}`)
    }
    expect(await rowCountOf(service.pool, 'task', accountId)).toBe(1)
    expect(await rowCountOf(service.pool, 'ledger', accountId)).toBe(1)
    const { credits, limits } = await account()
    expect(credits.available).toBe(before.credits.available)
    expect(limits).toEqual({
      requests: { limit: 1, period: 'hour', remaining: 0 },
      live_tasks: null,
    })
  })

  it('a replay passes, and has no `RateLimit` [rate-5]', async () => {
    const { client, other } = await openAccount({
      requests: { limit: 2, period: 'hour' },
      liveTasks: 1,
    })
    const key = { 'Idempotency-Key': 'limits' }
    const made = await client.accepted(generateBody(), key)
    await client.ended(made.task_id)
    const sync = { 'Idempotency-Key': 'limits sync' }
    const image = await generate(client, { prompt: 'limits replay' }, sync)
    expect([image.status, ...rateLimitOf(image)]).toEqual([
      200,
      '"requests";q=2;w=3600',
      expect.stringMatching(/^"requests";r=0;t=\d+$/),
    ])
    expect((await client.submit(generateBody())).status).toBe(429)
    const replays = [
      await other.submit(generateBody(), key),
      await generate(other, { prompt: 'limits replay' }, sync),
    ]
    expect(replays.map(({ status }) => status)).toEqual([202, 200])
    expect(replays.flatMap(rateLimitOf).filter((value) => value !== null)).toEqual([])
  })
})

describe('beyond the limit of live tasks', () => {
  it('64 submits at two APIs make not one task too many, and an end makes room [rate-2, rate-3, rate-6]', async () => {
    const { client, other, accountId, account } = await openAccount({ liveTasks: 5 })
    const held = generateBody({ prompt: 'limits live [sim:hold]' })
    const answers = await Promise.all(many.map((n) => (n % 2 === 0 ? client : other).submit(held)))
    expect(statusesOf(answers)).toEqual({ 202: 5, 429: 59 })
    expect(await rowCountOf(service.pool, 'task', accountId)).toBe(5)
    expect((await account()).limits).toEqual({
      requests: null,
      live_tasks: { limit: 5, used: 5 },
    })
    for (const answer of await Promise.all(callsOf(client, 'limits refused'))) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5'])
      expect(await errorOf(answer)).toMatchObject({
        message: 'The limit of live tasks of this account is 5.',
        code: 'rate_limit_exceeded',
      })
    }
    await service.simulator.waitForCalls(5, { prompt: 'limits live' })
    await service.simulator.release({ prompt: 'limits live' })
    const accepted = answers.filter(({ status }) => status === 202)
    for (const answer of accepted) await client.ended(Object(await answer.json()).task_id)
    expect((await client.submit(generateBody())).status).toBe(202)
  })
})
