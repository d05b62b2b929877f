import { beforeEach, describe, expect, it } from 'vitest'
import type { DueWebhook } from '../../src/domain/ports/webhookStore.ts'
import type { Verdict } from '../../src/domain/webhooks/retries.ts'
import { lookTimeoutMs } from '../../src/domain/webhooks/delivery.ts'
import { testDeliveriesMax } from '../../src/domain/webhooks/webhook.ts'
import {
  insertTestDelivery,
  listDeliveries,
  redeliver,
} from '../../src/store/webhooks/deliveries.ts'
import { planLook, webhooksWithoutRun } from '../../src/store/webhooks/runs.ts'
import { claimDelivery, recordTry } from '../../src/store/webhooks/tries.ts'
import {
  enableWebhook,
  endedWithPending,
  endSomePending,
  endWebhook,
  forgetWebhooks,
  readWebhook,
} from '../../src/store/webhooks/webhooks.ts'
import { createEndDeliveriesStep } from '../../src/tasks/reconcile/webhookStep.ts'
import { createDeliveryStore } from '../../src/wiring/stores.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'
import { testChannel, testMeta } from '../support/database/testAttempts.ts'
import { insertTestWebhook, useTestWebhook } from '../support/database/testWebhooks.ts'
import { watchStatements } from '../support/database/watchStatements.ts'

const announced: (readonly DueWebhook[])[] = []
const world = useAttemptWorld([testChannel()], (_taskId, due) => {
  announced.push(due)
})
const webhook = useTestWebhook(world)
const { endOne, claimed, all } = webhook
beforeEach(() => announced.splice(0))

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: false } as const
const again: Verdict = { kind: 'retry', waitMs: 60_000 }
const outcome = { httpStatus: 500, durationMs: 10 }

describe('the end of a task', () => {
  it('writes a delivery for each active webhook of its account and of no other [hook-10]', async () => {
    const second = await insertTestWebhook(world.pool, webhook.accountId)
    const stranger = await insertTestWebhook(world.pool, (await insertTask(world.pool)).accountId)
    const taskId = await endOne()
    expect(await all()).toMatchObject([{ event: 'task.failed', taskId, status: 'pending' }])
    expect(await listDeliveries(world.pool, second, { limit: 9 })).toHaveLength(1)
    expect(await listDeliveries(world.pool, stranger, { limit: 9 })).toEqual([])
    expect(
      announced
        .flat()
        .map((due) => due.webhookId)
        .toSorted(),
    ).toEqual([webhook.id, second].toSorted())
  })

  it('announces the webhooks of a success too', async () => {
    const { taskId } = await insertTask(world.pool, { accountId: webhook.accountId })
    const { answerId } = await openAttempt(world.attempts, taskId)
    expect(await world.attempts.settleTask({ meta: testMeta(taskId), answerId })).toBe(true)
    expect(announced.flat()).toEqual([
      { webhookId: webhook.id, accountId: webhook.accountId, failing: false, due: 1 },
    ])
  })

  it('writes nothing that a rolled back end would leave [hook-10]', async () => {
    const { taskId } = await insertTask(world.pool, { accountId: webhook.accountId })
    await world.pool.query(
      `create or replace function break_end() returns trigger language plpgsql as
       $$ begin raise exception 'broken'; end $$;
       create trigger break_end before insert on ledger for each row when (new.kind = 'release')
         execute function break_end()`,
    )
    await expect(world.attempts.failTask(taskId, failure)).rejects.toThrow('broken')
    await world.pool.query('drop trigger break_end on ledger')
    expect(await all()).toEqual([])
    await world.attempts.failTask(taskId, failure)
    expect(await all()).toHaveLength(1)
  })

  it('writes nothing for events that the webhook did not ask for, or while it is disabled [hook-9]', async () => {
    await world.pool.query(`update webhook set events = '{task.succeeded}' where webhook_id = $1`, [
      webhook.id,
    ])
    await endOne()
    await world.pool.query(`update webhook set events = '{task.failed}' where webhook_id = $1`, [
      webhook.id,
    ])
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled')
    await endOne()
    expect(await all()).toEqual([])
    await enableWebhook(world.pool, webhook.accountId, webhook.id)
    await endOne()
    expect(await all()).toHaveLength(1)
  })

  it('leaves no pending delivery when its webhook is disabled at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { taskId } = await insertTask(world.pool, { accountId: webhook.accountId })
      await Promise.all([
        world.attempts.failTask(taskId, failure),
        endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled'),
      ])
      const pending = (await all()).filter(({ status }) => status === 'pending')
      expect(pending).toEqual([])
      await enableWebhook(world.pool, webhook.accountId, webhook.id)
    }
  })
})

describe('the end of a webhook with very many pending deliveries', () => {
  const count = 12_000
  const insertMany = (many = count) =>
    world.pool.query(
      `insert into webhook_delivery (delivery_id, webhook_id, event, tries)
       select $1 || n, $1, 'task.failed', n % 2 from generate_series(1, $2) n`,
      [webhook.id, many],
    )
  const pending = async () => (await all()).filter(({ status }) => status === 'pending')

  it('fails them all, in statements of 5,000 each', async () => {
    await insertMany()
    const sent = watchStatements()
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled')
    expect(sent.filter((name) => name === 'end-pending')).toHaveLength(3)
    expect(await all()).toHaveLength(count)
    expect(await pending()).toEqual([])
    expect(await endedWithPending(world.pool, 100)).not.toContain(webhook.id)
  })

  it('leaves those beyond 20,000 to the reconciler', async () => {
    await insertMany(21_000)
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled')
    expect(await pending()).toHaveLength(1_000)
    await createEndDeliveriesStep({ store: createDeliveryStore(world.pool) }).run(
      new AbortController().signal,
      () => {},
    )
    expect(await pending()).toEqual([])
  })

  it('lets tasks of the account end meanwhile, and records none of these ends', async () => {
    await insertMany()
    const blocker = await world.pool.connect()
    await blocker.query('begin')
    await blocker.query('select from webhook_delivery where webhook_id = $1 for update', [
      webhook.id,
    ])
    const ended = endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled')
    await expect
      .poll(async () => (await readWebhook(world.pool, webhook.accountId, webhook.id))?.status)
      .toBe('disabled')
    await endOne()
    await blocker.query('commit')
    blocker.release()
    await ended
    expect(await all()).toHaveLength(count)
    expect(await pending()).toEqual([])
  })

  it('is finished by the reconciler, or before the webhook is enabled, when its process was lost', async () => {
    const step = createEndDeliveriesStep({ store: createDeliveryStore(world.pool) })
    const { signal } = new AbortController()
    for (const finish of [
      () => step.run(signal, () => {}),
      () => enableWebhook(world.pool, webhook.accountId, webhook.id),
    ]) {
      await endOne()
      await world.pool.query(`update webhook set status = 'disabled' where webhook_id = $1`, [
        webhook.id,
      ])
      expect(await endedWithPending(world.pool, 100)).toContain(webhook.id)
      await finish()
      expect(await pending()).toEqual([])
      await enableWebhook(world.pool, webhook.accountId, webhook.id)
    }
  })

  it('is not begun for an active webhook', async () => {
    await endOne()
    await enableWebhook(world.pool, webhook.accountId, webhook.id)
    expect(await endSomePending(world.pool, webhook.id)).toBe(false)
    expect(await pending()).toHaveLength(1)
  })
})

describe('a test delivery', () => {
  it('is refused only when twenty of its webhook are pending', async () => {
    const insert = () => insertTestDelivery(world.pool, webhook.id)
    const first = await insert()
    if (first === undefined || first === 'too_many') throw new Error('no test')
    // The oldest one stays pending, and all later ones are delivered.
    for (let n = 0; n < 25; n += 1) {
      expect(await insert()).toMatchObject({ status: 'pending' })
      await world.pool.query(
        `update webhook_delivery set status = 'delivered', next_attempt_at = null
         where webhook_id = $1 and delivery_id <> $2`,
        [webhook.id, first.deliveryId],
      )
    }
    expect(await all()).toHaveLength(testDeliveriesMax)
    for (let n = 1; n < testDeliveriesMax; n += 1) await insert()
    expect(await insert()).toBe('too_many')
    expect((await all()).filter(({ status }) => status === 'pending')).toHaveLength(20)
  })
})

describe('a redelivery that is asked for during a try', () => {
  it('is not ended by the failure of that try, and is ended by its success', async () => {
    await endOne()
    const earlier = await claimed()
    await redeliver(world.pool, webhook.id, earlier.deliveryId)
    await recordTry(world.pool, earlier, outcome, { kind: 'given_up' })
    expect(await all()).toMatchObject([{ status: 'pending', attempts: [] }])
    const success = { httpStatus: 200, durationMs: 1 }
    await recordTry(world.pool, earlier, success, { kind: 'delivered' })
    expect(await all()).toMatchObject([{ status: 'delivered', attempts: [{ httpStatus: 200 }] }])
  })
})

describe('the run of a webhook', () => {
  const isMissing = async () =>
    (await webhooksWithoutRun(world.pool, 100)).some((run) => run.webhookId === webhook.id)

  it('is needed by the first failed try, and again only for an earlier one than it looks for', async () => {
    for (let n = 0; n < 3; n += 1) await endOne()
    const needs = async (verdict: Verdict) =>
      (await recordTry(world.pool, await claimed(), outcome, verdict)).needsRun
    expect(await needs(again)).toBe(true)
    const waitMs = await planLook(world.pool, webhook.id)
    expect(waitMs).toBeGreaterThan(55_000)
    expect(waitMs).toBeLessThanOrEqual(60_000)
    expect(await needs({ kind: 'retry', waitMs: 120_000 })).toBe(false)
    expect(await needs({ kind: 'retry', waitMs: 5_000 })).toBe(true)
  })

  it('waits for a slot when four tries of the webhook are under way', async () => {
    for (let n = 0; n < 5; n += 1) await endOne()
    await recordTry(world.pool, await claimed(), outcome, { kind: 'retry', waitMs: 0 })
    for (let n = 0; n < 3; n += 1) await claimed()
    expect(await planLook(world.pool, webhook.id)).toBe(0)
    await claimed()
    expect(await claimDelivery(world.pool, webhook.id, 'again')).toBeUndefined()
    const waitMs = await planLook(world.pool, webhook.id)
    expect(waitMs).toBeGreaterThan(15_000)
    expect(waitMs).toBeLessThanOrEqual(20_000)
  })

  it('ends when no later try is pending', async () => {
    await endOne()
    expect(await planLook(world.pool, webhook.id)).toBeUndefined()
    await recordTry(world.pool, await claimed(), outcome, again)
    expect(await planLook(world.pool, webhook.id)).toBeDefined()
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled')
    expect(await planLook(world.pool, webhook.id)).toBeUndefined()
  })

  it('is missing when it has not looked half a minute after it promised', async () => {
    await endOne()
    expect(await isMissing()).toBe(false)
    await recordTry(world.pool, await claimed(), outcome, again)
    expect(await isMissing()).toBe(true)
    await planLook(world.pool, webhook.id, 1_000)
    expect(await isMissing()).toBe(false)
    await world.pool.query(
      `update webhook_health set run_looks_at = now() - interval '31 seconds' where webhook_id = $1`,
      [webhook.id],
    )
    expect(await isMissing()).toBe(true)
  })

  it('counts as missing when it sleeps although a delivery is late', async () => {
    await endOne()
    await recordTry(world.pool, await claimed(), outcome, { kind: 'retry', waitMs: 3_600_000 })
    await planLook(world.pool, webhook.id)
    expect(await isMissing()).toBe(false)
    // The worker was lost before it could wake the run for this delivery.
    await endOne()
    await recordTry(world.pool, await claimed(), outcome, { kind: 'retry', waitMs: -20_000 })
    expect(await isMissing()).toBe(false)
    await endOne()
    await recordTry(world.pool, await claimed(), outcome, { kind: 'retry', waitMs: -31_000 })
    expect(await isMissing()).toBe(true)
    await planLook(world.pool, webhook.id, lookTimeoutMs)
    expect(await isMissing()).toBe(false)
  })
})

describe('a deleted webhook', () => {
  it('is forgotten with its last delivery', async () => {
    const taskId = await endOne()
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'deleted')
    await forgetWebhooks(world.pool)
    const left = () => world.pool.query('select from webhook where webhook_id = $1', [webhook.id])
    expect((await left()).rowCount).toBe(1)
    await world.pool.query('delete from task where task_id = $1', [taskId])
    expect(await forgetWebhooks(world.pool)).toBeGreaterThanOrEqual(1)
    expect((await left()).rowCount).toBe(0)
  })
})
