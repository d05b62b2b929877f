import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { moneyOf, assertLedgerVerifies, balanceOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { freePort } from '../support/ports.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

const syncDeadlineSeconds = 6

/** Family A has two channels with weights that work, and a dead one. */
const weightOf = { 'a-heavy': 3, 'a-light': 1 }
const dead = 'a-dead'

/** The channels of family B are tried in order. Their upstream model names tell which one was called. */
function channels(url: string, deadUrl: string): unknown {
  const a = { family: 'A', baseUrl: url, apiKeyEnv: 'FAMILYA_API_KEY' }
  const b = { family: 'B', baseUrl: `${url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' }
  const named = (place: string) => ({
    'familyb-image-2-web': `web-${place}`,
    'familyb-image-2-vip': `vip-${place}`,
  })
  return {
    channels: [
      ...Object.entries(weightOf).map(([name, weight]) => ({ ...a, name, weight })),
      { ...a, name: dead, baseUrl: deadUrl, weight: 4 },
      { ...b, name: 'b-first', models: named('first') },
      { ...b, name: 'b-second', models: named('second') },
    ],
  }
}

let service: TestService
let account: TestAccount
let client: Client
/** The client of a call that the upstream answers only after the synchronous wait. It waits during all tests. */
let patient: Client
let slow: Promise<{ readonly answer: Answer; readonly waitedMs: number }>
const slowPrompt = 'slow [sim:hold]'
beforeAll(async () => {
  const deadUrl = `http://127.0.0.1:${await freePort()}`
  service = await startTestService({
    environment: { SYNC_DEADLINE_SECONDS: String(syncDeadlineSeconds) },
    operatorFile: (url) => channels(url, deadUrl),
  })
  patient = createClient(service.url, (await service.account()).secret)
  slow = waitedFor(() => generateBy(patient, { prompt: slowPrompt }, 'slow'))
  return () => service.stop()
}, stackStartMsMax)
beforeEach(async () => {
  // No test begins while a channel cools down after another one.
  await service.pool.query('delete from cooldown')
  account = await service.account()
  client = createClient(service.url, account.secret)
})
afterEach(() => assertLedgerVerifies(service.pool))

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string }

async function read(answer: Response): Promise<Answer> {
  const { status, headers } = answer
  return { status, headers, text: await answer.text() }
}

type Fields = Readonly<Record<string, unknown>>
const generateBy = async (by: Client, fields: Fields, key?: string) =>
  read(await call.generate(by, fields, key === undefined ? {} : { 'idempotency-key': key }))
const generate = (fields: Fields, key?: string) => generateBy(client, fields, key)

async function waitedFor(send: () => Promise<Answer>) {
  const startedAt = performance.now()
  return { answer: await send(), waitedMs: performance.now() - startedAt }
}

const errorOf = ({ text }: Answer) => Object(JSON.parse(text)).error
const taskIdOf = ({ headers }: Answer) => headers.get('x-task-id') ?? ''
const money = (answer: Answer) => moneyOf(service.pool, taskIdOf(answer))
const modelsCalled = async (prompt: string) =>
  (await service.simulator.calls({ prompt })).map((one) => one.model)
const held = async () => (await balanceOf(service.pool, account.accountId))?.held

describe('an upstream refusal', () => {
  const model = 'familyb-image-2-web'

  it('is passed on with `Retry-After` and releases key and hold; after the wait the key gets its image [error-429]', async () => {
    const prompt = 'both [sim:429 retry-after=1 times=2]'
    const refused = await generate({ model, prompt }, 'K')
    expect(refused.status).toBe(429)
    expect(errorOf(refused)).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    })
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(2)
    expect(refused.headers.get('x-should-retry')).not.toBe('false')
    expect(await money(refused)).toEqual(['hold', 'release'])
    expect(await held()).toBe(0)
    expect(await modelsCalled(prompt)).toEqual(['web-first', 'web-second'])

    await sleep(seconds * 1000)
    const served = await generate({ model, prompt }, 'K')
    expect(served.status).toBe(200)
    expect(served.headers.get('idempotent-replayed')).toBe('false')
    expect(taskIdOf(served)).not.toBe(taskIdOf(refused))
    expect(await money(served)).toEqual(['hold', 'settle'])

    const again = await generate({ model, prompt }, 'K')
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.text).toBe(served.text)
    expect(await modelsCalled(prompt)).toHaveLength(3)
  })

  it('that lasts too long for a client is told to the next one before a task is made; asynchronous tasks and replays are served [error-429]', async () => {
    const other = 'familyb-image-2-vip'
    const served = await generate({ model: other, prompt: 'before' }, 'K')
    const prompt = 'long [sim:429 retry-after=60 times=2]'
    const refused = await generate({ model: other, prompt })
    expect(refused.status).toBe(429)
    expect(await money(refused)).toEqual(['hold', 'release'])
    expect(await modelsCalled(prompt)).toEqual(['vip-first', 'vip-second'])

    const next = await generate({ model: other, prompt: 'next' })
    expect(next.status).toBe(429)
    expect(errorOf(next)).toMatchObject({ type: 'rate_limit_error', code: 'rate_limit_exceeded' })
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(55)
    expect(next.headers.get('x-task-id')).toBeNull()
    expect(await held()).toBe(0)
    expect(await modelsCalled('next')).toEqual([])

    const again = await generate({ model: other, prompt: 'before' }, 'K')
    expect(again.text).toBe(served.text)
    await client.accepted(generateBody({ model: other, prompt: 'queued' }))

    await service.pool.query('delete from cooldown')
    await sleep(1_000)
    expect((await generate({ model: other, prompt: 'free again' })).status).toBe(200)
  })

  it('on the first channel moves the call to the second; the task is charged once', async () => {
    const prompt = 'move on [sim:429 retry-after=1 model=vip-first]'
    const answer = await generate({ prompt })
    expect(answer.status).toBe(200)
    expect(await modelsCalled(prompt)).toEqual(['vip-first', 'vip-second'])
    expect(await outcomesOf(service.pool, taskIdOf(answer))).toEqual([
      'refused rate_limited',
      'succeeded image',
    ])
    expect(await money(answer)).toEqual(['hold', 'settle'])
  })
})

describe('a synchronous call that ends without an image', () => {
  it('returns a 500 that may be retried when every channel declines it once, and keeps nobody else from them [error-500]', async () => {
    const prompt = '[sim:403 about=unverified times=2]'
    const answer = await generate({ prompt }, 'declined')
    expect(answer.status).toBe(500)
    expect(errorOf(answer)).toMatchObject({ type: 'new_api_error', code: 'do_request_failed' })
    expect(answer.headers.has('x-should-retry')).toBe(false)
    expect(await modelsCalled(prompt)).toEqual(['vip-first', 'vip-second'])
    expect(await outcomesOf(service.pool, taskIdOf(answer))).toEqual([
      'declined forbidden',
      'declined forbidden',
    ])
    expect(await money(answer)).toEqual(['hold', 'release'])
    expect((await generate({ prompt }, 'declined')).status).toBe(200)
  })

  it('returns a 500 that may be retried when every channel refuses our credential [error-500]', async () => {
    const prompt = '[sim:401 times=2]'
    const answer = await generate({ prompt }, 'ours')
    expect(answer.status).toBe(500)
    expect(errorOf(answer)).toMatchObject({ type: 'new_api_error', code: 'do_request_failed' })
    expect(errorOf(answer).message).toContain(answer.headers.get('x-request-id'))
    expect(answer.headers.has('x-should-retry')).toBe(false)
    expect(await modelsCalled(prompt)).toEqual(['vip-first', 'vip-second'])
    expect(await money(answer)).toEqual(['hold', 'release'])
    // The operator has mended the credential, and resumes the channels.
    await service.pool.query('delete from cooldown')
    expect((await generate({ prompt }, 'ours')).status).toBe(200)
  })
})

describe('one idempotency key', () => {
  it('joins the call under way: one task, one upstream call, the same 200 [idem-7]', async () => {
    const prompt = 'joined [sim:delay ms=600]'
    const answers = await Promise.all([1, 2, 3].map(() => generate({ prompt }, 'join')))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(new Set(answers.map(taskIdOf)).size).toBe(1)
    const replayed = answers.map(({ headers }) => headers.get('idempotent-replayed'))
    expect(replayed.filter((mark) => mark !== 'true')).toEqual(['false'])
    expect(await modelsCalled(prompt)).toHaveLength(1)
  })

  it('returns a 409 that must not be retried for another request or route [idem-8, answer-6]', async () => {
    const first = generate({ prompt: 'mine [sim:delay ms=600]' }, 'mine')
    const key = { 'idempotency-key': 'mine' }
    await service.simulator.waitForCalls(1, { prompt: 'mine [sim' })
    const others = [
      await generate({ prompt: 'changed' }, 'mine'),
      await read(await client.submit(generateBody({ prompt: 'mine [sim:delay ms=600]' }), key)),
    ]
    expect((await first).status).toBe(200)
    others.push(await generate({ prompt: 'changed' }, 'mine'))
    for (const other of others) {
      expect(other.status).toBe(409)
      expect(other.headers.get('x-should-retry')).toBe('false')
      expect(errorOf(other).code).toBe('idempotency_key_reused')
    }
    expect(await modelsCalled('changed')).toEqual([])
  })
})

describe('an upstream slower than the synchronous wait', () => {
  it('causes a 500 that must not be retried; the task continues, is charged once and is served to its key [answer-6, sync-9]', async () => {
    const { answer: late, waitedMs } = await slow
    expect(late.status).toBe(500)
    expect(waitedMs).toBeGreaterThanOrEqual(syncDeadlineSeconds * 1000)
    // The call began while other services started on the same cores.
    expect(waitedMs).toBeLessThan(3 * syncDeadlineSeconds * 1000)
    expect(errorOf(late)).toMatchObject({ type: 'new_api_error', code: 'generation_timeout' })
    expect(late.headers.get('x-should-retry')).toBe('false')
    expect(late.headers.get('location')).toBe(`${service.url}/v1/tasks/${taskIdOf(late)}`)
    expect(await money(late)).toEqual(['hold'])

    const joining = generateBy(patient, { prompt: slowPrompt }, 'slow')
    await service.simulator.release({ prompt: slowPrompt })
    const joined = await joining
    expect(joined.status).toBe(200)
    expect(joined.headers.get('idempotent-replayed')).toBe('true')
    expect(taskIdOf(joined)).toBe(taskIdOf(late))
    const record = await fetch(late.headers.get('location') ?? '', {
      headers: { authorization: patient.authorization },
    })
    expect(await record.json()).toMatchObject({ status: 'succeeded' })
    expect(await call.resultText(patient, taskIdOf(late))).toBe(joined.text)
    expect(await money(late)).toEqual(['hold', 'settle'])
    expect(await modelsCalled(slowPrompt)).toHaveLength(1)
  })
})

describe('channels with weights', () => {
  it('share the tasks of both kinds; a dead one among them costs no task, and none is paid for twice', async () => {
    const model = 'familya-3-pro-image'
    for (let n = 0; n < 6; n += 1) {
      const { task_id } = await client.accepted(generateBody({ model, prompt: `Shared ${n}` }))
      expect(await client.ended(task_id)).toMatchObject({ status: 'succeeded' })
      const body = { contents: [{ parts: [{ text: `Shared too ${n}` }] }] }
      const answer = await call.content(client, 'generateContent', body, model)
      expect([answer.status, (await answer.arrayBuffer()).byteLength > 0]).toEqual([200, true])
    }
    const billed = (await service.simulator.calls({ family: 'A' })).filter((made) => made.billed)
    expect(billed).toHaveLength(12)
    const { rows } = await service.pool.query<{ channel: string; class: string }>(
      `select channel, class from attempt where channel like 'a-%' order by opened_at`,
    )
    const made = rows.filter(({ channel }) => channel !== dead)
    expect(made.map((attempt) => attempt.class)).toEqual(Array(12).fill('succeeded'))
    // Each of its refusals makes its next cooldown longer, so it is called less often than the others.
    const refused = rows.filter(({ channel }) => channel === dead)
    expect(new Set(refused.map((attempt) => attempt.class))).not.toContain('succeeded')
    expect(refused.length).toBeLessThan(6)
  })
})
