import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Client, Submitted } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { rawPost, sendRaw } from '../support/clients/rawCalls.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import { assertLedgerVerifies, balanceOf, moneyOf } from '../support/database/money.ts'
import { paddedPng } from '../support/images.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()
const keyed = createClient(service.url, (await service.account()).secret)

afterEach(() => assertLedgerVerifies(service.pool))

/** Returns the client of one API process, by turn. */
function clientsOf(account: TestAccount): (turn: number) => Client {
  const clients = service.urls.map((url) => createClient(url, account.secret))
  return (turn) => {
    const client = clients[turn % clients.length]
    if (client === undefined) throw new Error('no API')
    return client
  }
}

const many = 64
const images = Array.from({ length: 16 }, (_, i) => paddedPng(5_000, i))
const sixteen = (last = images[15] ?? Buffer.alloc(0)) =>
  editBody({
    prompt: 'Keys: sixteen together',
    input_images: [...images.slice(0, 15), last].map((bytes) => inputImage(bytes)),
  })

describe('one idempotency key', () => {
  const headers = { 'idempotency-key': 'one' }
  let account: TestAccount
  let first: Submitted
  beforeAll(async () => {
    account = await service.account()
  })

  it('makes one task, one hold and one upstream call from 64 concurrent submits to two APIs [idem-1, idem-2]', async () => {
    const client = clientsOf(account)
    const body = JSON.stringify(sixteen())
    const answers = await Promise.all(
      Array.from({ length: many }, async (_, turn) => {
        const answer = await client(turn).submit(body, headers)
        const replayed = answer.headers.get('idempotent-replayed')
        return { status: answer.status, replayed, text: await answer.text() }
      }),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const marks = answers.map(({ replayed }) => replayed)
    expect(marks.filter((mark) => mark !== 'true')).toEqual(['false'])
    first = JSON.parse(answers[0]?.text ?? '')
    expect((await client(0).ended(first.task_id)).status).toBe('succeeded')
    expect(await moneyOf(service.pool, first.task_id)).toEqual(['hold', 'settle'])
    expect(await service.simulator.calls({ prompt: 'Keys: sixteen together' })).toHaveLength(1)
  })

  it('returns 409 and charges nothing when one byte of image 16 differs [idem-3]', async () => {
    const before = await balanceOf(service.pool, account.accountId)
    const changed = Buffer.from(images[15] ?? '')
    changed[3_000] = (changed[3_000] ?? 0) ^ 1
    const answer = await clientsOf(account)(1).submit(sixteen(changed), headers)
    expect(answer.status).toBe(409)
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(await answer.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'idempotency_key_reused', param: null },
    })
    expect(await balanceOf(service.pool, account.accountId)).toEqual(before)
    const rows = await service.pool.query(
      `select 1 from ledger where account_id = $1 and kind <> 'deposit'`,
      [account.accountId],
    )
    expect(rows.rowCount).toBe(2)
  })

  it('replays a body with its fields in another order and the default `n` added [task-12, idem-1]', async () => {
    const reordered = Object.fromEntries(Object.entries(sixteen()).toReversed())
    const answer = await clientsOf(account)(0).submit({ ...reordered, n: 1 }, headers)
    expect(answer.headers.get('idempotent-replayed')).toBe('true')
    expect(await answer.json()).toEqual(first)
  })
})

const send = (keys: readonly string[], encoding?: BufferEncoding) => {
  const lines = keys.map((key) => `Idempotency-Key: ${key}`)
  const head = [`Authorization: ${keyed.authorization}`, ...lines]
  return sendRaw(service.url, rawPost('/v1/images/tasks', head, generateBody(), encoding))
}

describe('an Idempotency-Key', () => {
  it.each([
    ['255 bytes above ASCII', 'é'.repeat(255), 'latin1'],
    ['254 bytes in 127 letters', 'é'.repeat(127), 'utf8'],
  ] as const)(
    'is accepted and replays by its bytes: %s [idem-2, idem-4]',
    async (_what, key, encoding) => {
      for (const replayed of ['false', 'true']) {
        expect(await send([key], encoding)).toMatch(
          new RegExp(`^HTTP/1.1 202 [\\s\\S]*idempotent-replayed: ${replayed}`, 'i'),
        )
      }
    },
  )

  it.each([
    ['256 bytes', ['k'.repeat(256)], 'latin1'],
    ['256 bytes in 128 letters', ['é'.repeat(128)], 'utf8'],
    ['empty', [''], 'latin1'],
    ['sent twice', ['a', 'a'], 'latin1'],
  ] as const)('returns 400: %s [idem-4]', async (_what, keys, encoding) => {
    const answer = await send(keys, encoding)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('"param":"Idempotency-Key","code":"invalid_value"')
  })

  it('belongs to its account: another account makes its own task with the same key [idem-5]', async () => {
    const headers = { 'idempotency-key': 'shared' }
    const other = createClient(service.url, (await service.account()).secret)
    const mine = await keyed.accepted(generateBody(), headers)
    const theirs = await other.accepted(generateBody({ prompt: 'Another' }), headers)
    expect(theirs.task_id).not.toBe(mine.task_id)
  })
})
