import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Client, Submitted } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import { assertLedgerVerifies, balanceOf, moneyOf } from '../support/database/money.ts'
import { paddedPng } from '../support/images.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()

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

describe('many idempotency keys', () => {
  const credits = 6
  const body = generateBody({ quality: 'low', prompt: 'Keys: ten of us' })

  it('make exactly 10 tasks from 64 concurrent submits when the balance pays for 10; replays cost nothing [money-1, idem-6]', async () => {
    const account = await service.account(10 * credits)
    const client = clientsOf(account)
    const submit = (turn: number) =>
      client(turn).submit(body, { 'idempotency-key': `many-${turn}` })
    const answers = await Promise.all(
      Array.from({ length: many }, async (_, turn) => {
        const answer = await submit(turn)
        return { turn, status: answer.status, body: JSON.parse(await answer.text()) }
      }),
    )
    const accepted = answers.filter(({ status }) => status === 202)
    const refused = answers.filter(({ status }) => status === 403)
    expect([accepted.length, refused.length]).toEqual([10, 54])
    const balance = await balanceOf(service.pool, account.accountId)
    expect(balance).toMatchObject({ available: 0 })

    const replay = await submit(accepted[0]?.turn ?? -1)
    expect(replay.status).toBe(202)
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(await replay.json()).toEqual(accepted[0]?.body)

    await Promise.all(accepted.map((one) => client(0).ended(one.body.task_id)))
    expect(await balanceOf(service.pool, account.accountId)).toEqual({
      available: 0,
      held: 0,
      spent: 10 * credits,
    })
    expect(await service.simulator.calls({ prompt: 'Keys: ten of us' })).toHaveLength(10)
  })
})
