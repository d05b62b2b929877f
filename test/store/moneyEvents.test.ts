import { describe, expect, it } from 'vitest'
import type { Budget } from '../../src/domain/accounts/budget.ts'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { newTaskId } from '../../src/domain/ids.ts'
import { webhookEvents } from '../../src/domain/webhooks/webhook.ts'
import { setAccountAlert, topUpAccount } from '../../src/operations/accounts.ts'
import { setBudget } from '../../src/store/accounts/budgets.ts'
import { withTransaction } from '../../src/store/connection/transaction.ts'
import { purgeTasks } from '../../src/store/tasks/purgeTasks.ts'
import { retryTask } from '../../src/store/tasks/retryTask.ts'
import { redeliver } from '../../src/store/webhooks/deliveries.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
} from '../support/database/testAccept.ts'
import { deliveriesOf, insertTestWebhook } from '../support/database/testWebhooks.ts'
import { issueTestKey } from '../support/service/testAccount.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'cancelled', cause: 'cancelled', workPossible: false }
const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

/** An account with a webhook for every event, and one for the events that are usual. A submit costs 10. */
async function openAccount(credits: number, budget?: Budget) {
  const { pool } = world
  const caller = await createTestCaller(pool, credits)
  const { keyId } = await issueTestKey(pool, caller.accountId, pepper, budget && { budget })
  const webhook = await insertTestWebhook(pool, caller.accountId, undefined, webhookEvents)
  const usual = await insertTestWebhook(pool, caller.accountId)
  const { accept, answerWithoutTask } = createTestAccept(pool)
  const input = { caller: { ...caller, keyId }, request: generateRequest() }
  const operator = { pool, actor: 'cli:test@host' } as const
  return {
    keyId,
    webhook,
    submit: (key?: string) =>
      accept(key === undefined ? input : { ...input, idempotencyKey: keyBytes(key) }),
    refusedBeforeImages: (key: string) =>
      answerWithoutTask({ ...input, idempotencyKey: keyBytes(key) }),
    alert: (below: number | null) => setAccountAlert(operator, { name: caller.name, below }),
    topUp: (more: number) => topUpAccount(operator, { name: caller.name, credits: more }),
    /** What webhooks were told of money, oldest first. */
    told: async () => {
      const { rows } = await pool.query<{ event: string; data: unknown }>(
        `select event, data from webhook_delivery where webhook_id = any($1) and data is not null
         order by created_at`,
        [[webhook, usual]],
      )
      const alone = await deliveriesOf(pool, usual)
      expect(alone.filter(({ task_id }) => task_id === undefined)).toEqual([])
      return rows
    },
  }
}

const low = (available: number, threshold: number) => {
  return { event: 'account.balance_low', data: { available, threshold } }
}

describe('account.balance_low', () => {
  it('is told once by 64 submits at once, with the balance that first is below [hook-25]', async () => {
    const account = await openAccount(640)
    await account.alert(300)
    expect(await account.told()).toEqual([])
    const answers = await Promise.all(Array.from({ length: 64 }, () => account.submit()))
    expect(answers.every(({ ok }) => ok)).toBe(true)
    expect(await account.told()).toEqual([low(290, 300)])
  })

  it('is told again only after a topup or the operator has armed it, at once if the balance is below [hook-25]', async () => {
    const account = await openAccount(100)
    await account.alert(100)
    await account.submit()
    expect(await account.told()).toEqual([low(90, 100)])
    await account.submit()
    await account.topUp(-5)
    expect(await account.told()).toHaveLength(1)
    await account.topUp(10)
    expect((await account.told()).slice(1)).toEqual([low(85, 100)])
    await account.topUp(15)
    expect(await account.told()).toHaveLength(2)
    await account.topUp(-1)
    expect((await account.told()).slice(2)).toEqual([low(99, 100)])
    await account.alert(100)
    expect((await account.told()).slice(3)).toEqual([low(99, 100)])
    await account.alert(null)
    await account.topUp(-50)
    await account.topUp(1)
    expect(await account.told()).toHaveLength(4)
  })

  it('is told by the retry of a task, and by no submit that is refused [hook-25]', async () => {
    const account = await openAccount(10)
    const { taskId } = accepted(await account.submit())
    await world.attempts.failTask(taskId, failure, 0)
    await account.alert(10)
    await account.topUp(-1)
    expect(await account.told()).toEqual([low(9, 10)])
    await account.topUp(1)
    const termsOf = () => ({
      credits: 10,
      smallerPrices: [],
      deadlineMs: 600_000,
      hardEndMs: 900_000,
    })
    const input = { taskId, newTaskId: newTaskId(), termsOf }
    await withTransaction(world.pool, (client) => retryTask(client, input))
    expect((await account.told()).slice(1)).toEqual([low(0, 10)])
    expect(await account.submit()).toMatchObject({ ok: false })
    expect(await account.told()).toHaveLength(2)
  })
})

describe('key.budget_reached', () => {
  const reached = (keyId: string, percent: number, used: number, budget = '100/month') => {
    return { event: 'key.budget_reached', data: { key_id: keyId, budget, used, percent } }
  }

  it('is told at 80 percent by the submit that reaches it, and at 100 by the first that is refused, each once, whatever is released [hook-26]', async () => {
    const account = await openAccount(10_000, { credits: 100, period: 'month' })
    const { keyId, submit, told } = account
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit()))
    expect(await told()).toEqual([reached(keyId, 80, 80)])
    for (const answer of answers) {
      await world.attempts.failTask(accepted(answer).taskId, failure, 0)
    }
    for (let n = 0; n < 10; n += 1) accepted(await submit(`key ${n}`))
    expect(await told()).toHaveLength(1)
    expect(await account.refusedBeforeImages('key 0')).toMatchObject({ ok: true })
    expect(await told()).toHaveLength(1)
    const refused = await Promise.all(Array.from({ length: 64 }, () => submit()))
    expect(refused.filter(({ ok }) => ok)).toEqual([])
    expect((await told()).slice(1)).toEqual([reached(keyId, 100, 100)])
    await account.refusedBeforeImages('another key')
    expect(await told()).toHaveLength(2)
  })

  it('is told of a refused submit whose images are not stored for it [hook-26]', async () => {
    const account = await openAccount(10_000, { credits: 9, period: 'day' })
    await account.refusedBeforeImages('one')
    expect(await account.told()).toEqual([reached(account.keyId, 100, 0, '9/day')])
  })

  it('is told of the higher percentage alone when one submit passes both [hook-26]', async () => {
    const account = await openAccount(10_000, { credits: 19, period: 'month' })
    const { keyId, submit, told } = account
    await submit()
    expect(await told()).toEqual([])
    await submit()
    expect(await told()).toEqual([reached(keyId, 100, 10, '19/month')])
    await withTransaction(world.pool, (client) =>
      setBudget(client, keyId, { credits: 20, period: 'month' }),
    )
    expect(await told()).toHaveLength(1)
    await submit()
    expect((await told()).slice(1)).toEqual([reached(keyId, 80, 20, '20/month')])
  })

  it('is told again in the next period [hook-26]', async () => {
    const account = await openAccount(10_000, { credits: 10, period: 'month' })
    for (let round = 0; round < 2; round += 1) {
      await account.submit()
      await account.submit()
      await world.pool.query(
        `update budget_use set starts_at = starts_at - interval '1 month', ends_at = starts_at where key_id = $1`,
        [account.keyId],
      )
    }
    const percents = (await account.told()).map(({ data }) => Object(data).percent)
    expect(percents).toEqual([80, 100, 80, 100])
  })
})

it('deliveries of money are made again with the same id, and live 8 days [hook-27]', async () => {
  const account = await openAccount(10)
  await account.alert(20)
  const [delivery] = await deliveriesOf(world.pool, account.webhook)
  const again = await redeliver(world.pool, delivery?.delivery_id ?? '', account.webhook)
  expect(again).toMatchObject({ delivery_id: delivery?.delivery_id, event: 'account.balance_low' })
  const age = (time: string) =>
    world.pool.query(
      'update webhook_delivery set created_at = now() - $2::interval where webhook_id = $1',
      [account.webhook, time],
    )
  await age('191 hours')
  await purgeTasks(world.pool, 1)
  expect(await account.told()).toHaveLength(1)
  await age('193 hours')
  await purgeTasks(world.pool, 1)
  expect(await account.told()).toEqual([])
})
