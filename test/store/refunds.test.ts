import { describe, expect, it } from 'vitest'
import { builtInPrices } from '../../src/domain/models/prices.ts'
import { smallerPrices } from '../../src/domain/models/smallerPrices.ts'
import type { AnswerMeta } from '../../src/domain/upstream/answerMeta.ts'
import { readBudget, setBudget } from '../../src/store/accounts/budgets.ts'
import { readSpentDifference, readUsage } from '../../src/store/accounts/readUsage.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { withTransaction } from '../../src/store/connection/transaction.ts'
import type { EndedRow } from '../../src/store/tasks/afterEnd.ts'
import { readTask } from '../../src/store/tasks/readTask.ts'
import { chargedCredits } from '../../src/domain/tasks/task.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { assertLedgerVerifies, balanceOf, entriesOf } from '../support/database/money.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import { issueTestKey } from '../support/service/testAccount.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { createTestAttempts, openAttempt, testMeta } from '../support/database/testAttempts.ts'
import { modelOf } from '../support/models.ts'

const world = useAttemptWorld()

const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }
const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
type Sides = Pick<AnswerMeta['image'], 'width' | 'height'>

/** A task with an open attempt, that holds 90 credits for 3840x2160. 2048x2048 costs 60, and 1024x1024 40. */
async function called({ prices = builtInPrices } = {}) {
  const { pool, attempts } = world
  const caller = await createTestCaller(pool, 100)
  const { keyId } = await issueTestKey(pool, caller.accountId, pepper, {
    budget: { credits: 100, period: 'month' },
  })
  const { accept } = createTestAccept(pool, { prices })
  const request = generateRequest({ model: 'familyb-image-2-web', size: '3840x2160' })
  const { taskId } = accepted(await accept({ caller: { ...caller, keyId }, request }))
  const { answerId } = await openAttempt(attempts, taskId)
  const settle = (sides: Sides, by = attempts) =>
    by.settleTask({ meta: testMeta(taskId, 1, sides), answerId })
  const { accountId } = caller
  const money = async () => ({
    entries: (await entriesOf(pool, taskId)).map(({ kind, credits }) => `${kind} ${credits}`),
    balance: await balanceOf(pool, accountId),
    used: (await readBudget(pool, keyId))?.used,
  })
  return { taskId, accountId, keyId, settle, money }
}

const whole = {
  entries: ['hold 90', 'settle 90'],
  balance: { available: 10, held: 0, spent: 90 },
  used: 90,
}
const refunded = {
  entries: ['hold 90', 'settle 40', 'refund 50'],
  balance: { available: 60, held: 0, spent: 40 },
  used: 40,
}

describe('a settlement', () => {
  it.each<readonly [string, Sides, expected: object]>([
    ['as large as asked', { width: 3840, height: 2160 }, whole],
    ['as large, in portrait', { width: 2160, height: 3840 }, whole],
    ['of 0.7 of the pixels', { width: 5806080, height: 1 }, whole],
    ['larger than asked', { width: 65_535, height: 65_535 }, whole],
    ['of the smallest size', { width: 1254, height: 1254 }, refunded],
    ['of one pixel', { width: 1, height: 1 }, refunded],
    ['of an unknown size, as an earlier version has stored it', {}, whole],
    ['of an unknown height', { width: 1254, height: 0 }, whole],
    ['of a strange size', { width: -1254, height: 1254.5 }, whole],
    ['of more pixels than a number can say', { width: 2 ** 31 - 1, height: 2 ** 31 - 1 }, whole],
    ['of sides beyond every format', { width: 2 ** 31, height: 1 }, whole],
  ])(
    'charges an image %s for what it is, and gives the rest back to balance and budget [money-13]',
    async (_what, sides, expected) => {
      const { settle, money } = await called()
      expect(await settle(sides)).toBe(true)
      expect(await money()).toEqual(expected)
    },
  )

  it('refunds once when it is repeated, also at once, and says so once [money-14]', async () => {
    const seen: EndedRow[] = []
    const reporting = await createTestAttempts(world.pool, undefined, (ended) => seen.push(ended))
    const { taskId, settle, money } = await called()
    const sides = { width: 1024, height: 1024 }
    const settled = await Promise.all([1, 2, 3].map(() => settle(sides, reporting)))
    expect(settled).toEqual([true, true, true])
    expect(await settle(sides, reporting)).toBe(true)
    expect(await money()).toEqual(refunded)
    expect(seen).toMatchObject([{ taskId, model: 'familyb-image-2-web', refunded: 50 }])
  })

  it('of an answer that came after the end refunds nothing', async () => {
    const { taskId, settle, money } = await called()
    await world.attempts.closeAttempt({
      taskId,
      n: 1,
      class: 'unknown',
      evidence: { reason: 'timeout' },
    })
    expect(await world.attempts.failTask(taskId, failure, 1)).toBe('failed')
    expect(await settle({ width: 1, height: 1 })).toBe(false)
    expect((await money()).entries).toEqual(['hold 90', 'release 90'])
  })

  it('charges by the prices of the submit, whatever the list says now [money-13]', async () => {
    const cheap = builtInPrices.map((price) => ({ ...price, credits: 7 }))
    const usual = await called()
    const other = await called({ prices: cheap })
    await usual.settle({ width: 1254, height: 1254 })
    await other.settle({ width: 1254, height: 1254 })
    expect((await usual.money()).entries).toEqual(refunded.entries)
    expect((await other.money()).entries).toEqual(['hold 7', 'settle 7'])
  })

  it('charges the hold where the row says nothing of smaller sizes', async () => {
    const { taskId, settle, money } = await called()
    await setTask(world.pool, taskId, { smaller_prices: 'null' })
    await settle({ width: 1, height: 1 })
    expect(await money()).toEqual(whole)
  })

  it('may cost nothing, and then the whole hold goes back', async () => {
    const prices = builtInPrices.map((price) => ({
      ...price,
      credits: price.size === '3840x2160' ? 90 : 0,
    }))
    const { settle, money } = await called({ prices })
    await settle({ width: 1254, height: 1254 })
    expect(await money()).toEqual({
      entries: ['hold 90', 'settle 0', 'refund 90'],
      balance: { available: 100, held: 0, spent: 0 },
      used: 0,
    })
  })

  it('fails whole when the refund finds no balance', async () => {
    const { taskId, accountId, settle } = await called()
    await world.pool.query('delete from balance where account_id = $1', [accountId])
    await expect(settle({ width: 1, height: 1 })).rejects.toThrow('balance')
    const { rows } = await world.pool.query('select status from task where task_id = $1', [taskId])
    expect(rows).toEqual([{ status: 'processing' }])
    await world.pool.query(
      'insert into balance (account_id, available, deposited) values ($1, 10, 100)',
      [accountId],
    )
  })

  it('is what lookup, usage and a later budget say, also when the task is purged [money-13, usage-1]', async () => {
    const { pool } = world
    const { taskId, accountId, keyId, settle } = await called()
    await settle({ width: 1254, height: 1254 })
    const task = await readTask(pool, taskId)
    expect(task && chargedCredits(task)).toBe(40)
    expect(task).toMatchObject({ credits: 90, refundedCredits: 50 })
    for (const isPurged of [false, true]) {
      if (isPurged) await pool.query('delete from task where task_id = $1', [taskId])
      const usage = await readUsage(pool, accountId, { groupBy: [] })
      expect(usage).toMatchObject({ data: [{ tasks: { succeeded: 1, failed: 0 }, credits: 40 }] })
      expect(await readSpentDifference(pool, accountId)).toBe(0)
      const budget = { credits: 100, period: 'month' } as const
      await withTransaction(pool, (client) => setBudget(client, keyId, budget))
      expect((await readBudget(pool, keyId))?.used).toBe(40)
    }
    await assertLedgerVerifies(pool)
  })

  it('goes back to the period of the submit, as a release does [budget-4]', async () => {
    const { pool } = world
    const { taskId, keyId, settle } = await called()
    const month = `- interval '1 month'`
    await pool.query(
      `update budget_use set starts_at = starts_at ${month}, ends_at = ends_at ${month} where key_id = $1`,
      [keyId],
    )
    await setTask(pool, taskId, { created_at: `date_trunc('month', now()) ${month}` })
    await settle({ width: 1254, height: 1254 })
    const { rows } = await pool.query(
      'select used::int as used, ends_at > now() as "isNow" from budget_use where key_id = $1',
      [keyId],
    )
    expect(rows).toEqual([{ used: 40, isNow: false }])
  })
})

it('the statement finds the price that the list says, for every size and around every border', async () => {
  const model = modelOf('familyb-image-2-vip')
  for (const size of model.sizes) {
    const list = smallerPrices(model, { size, action: 'edit', inputImages: 1 })
    const borders = list.flatMap(({ belowPixels }) => [belowPixels - 1, belowPixels])
    for (const pixels of [1, 1254 ** 2, ...borders, 2 ** 40]) {
      const { rows } = await world.pool.query<{ charge: number }>(
        'select 1000 - refund_of(1000, $1, $2)::int as charge',
        [JSON.stringify(list), pixels],
      )
      const charge = list.find(({ belowPixels }) => pixels < belowPixels)?.credits ?? 1000
      expect([size, pixels, rows[0]?.charge]).toEqual([size, pixels, charge])
    }
  }
  expect(await verifyLedger(world.pool)).toEqual([])
})
