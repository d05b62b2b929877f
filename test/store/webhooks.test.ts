import { beforeEach, describe, expect, it } from 'vitest'
import type { DueWebhook } from '../../src/domain/ports/webhookStore.ts'
import type { Verdict } from '../../src/domain/webhooks/retries.ts'
import { listDeliveries, redeliver } from '../../src/store/webhooks/deliveries.ts'
import { planLook } from '../../src/store/webhooks/runs.ts'
import { claimDelivery, dueWebhooks, recordTry } from '../../src/store/webhooks/tries.ts'
import {
  enableWebhook,
  endedWithPending,
  endWebhook,
  forgetWebhooks,
  readWebhook,
} from '../../src/store/webhooks/webhooks.ts'
import { createEndDeliveriesStep } from '../../src/tasks/reconcile/webhookStep.ts'
import { createDeliveryStore } from '../../src/wiring/stores.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { testChannel } from '../support/database/testAttempts.ts'
import { insertTestWebhook, useTestWebhook } from '../support/database/testWebhooks.ts'

const announced: (readonly DueWebhook[])[] = []
const world = useAttemptWorld([testChannel()], (_taskId, due) => {
  announced.push(due)
})
const webhook = useTestWebhook(world)
const { endOne, claimed, all } = webhook
beforeEach(() => announced.splice(0))

/** Sets columns of the webhook and leaves its deliveries as they are. */
const change = (columns: string) =>
  world.pool.query(`update webhook set ${columns} where webhook_id = $1`, [webhook.id])

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
    await change(`events = '{task.succeeded}'`)
    await endOne()
    await change(`events = '{task.failed}'`)
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
  const insertMany = () =>
    world.pool.query(
      `insert into webhook_delivery (delivery_id, webhook_id, event, tries)
       select $1 || n, $1, 'task.failed', n % 2 from generate_series(1, $2) n`,
      [webhook.id, count],
    )
  const pending = async () => (await all()).filter(({ status }) => status === 'pending')

  it('fails them all', async () => {
    await insertMany()
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'disabled')
    expect(await all()).toHaveLength(count)
    expect(await pending()).toEqual([])
    expect(await endedWithPending(world.pool, 100)).not.toContain(webhook.id)
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
      await change(`status = 'disabled'`)
      expect(await endedWithPending(world.pool, 100)).toContain(webhook.id)
      await finish()
      expect(await pending()).toEqual([])
      await enableWebhook(world.pool, webhook.accountId, webhook.id)
    }
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

describe('a claim', () => {
  it('is had by one process, until its time is over', async () => {
    await endOne()
    const first = await claimed()
    expect(first).toMatchObject({
      webhookId: webhook.id,
      tries: 0,
      claim: 1,
      url: 'https://receiver.example/',
    })
    expect(await claimDelivery(world.pool, webhook.id, 'first')).toBeUndefined()
    await world.pool.query(
      'update webhook_delivery set claimed_until = now() where delivery_id = $1',
      [first.deliveryId],
    )
    const second = await claimed()
    expect(second).toMatchObject({ deliveryId: first.deliveryId, claim: 2 })
    // The first process was stopped and comes back: only a success counts.
    await recordTry(world.pool, first, outcome, again)
    expect(await all()).toMatchObject([{ status: 'pending', attempts: [] }])
    await recordTry(world.pool, first, { httpStatus: 200, durationMs: 1 }, { kind: 'delivered' })
    expect(await all()).toMatchObject([{ status: 'delivered', attempts: [{ httpStatus: 200 }] }])
    await recordTry(world.pool, second, outcome, again)
    expect(await all()).toMatchObject([{ status: 'delivered', attempts: [{ httpStatus: 200 }] }])
  })

  it('is one of at most four of its webhook, however many processes ask at once', async () => {
    for (let n = 0; n < 8; n += 1) await endOne()
    const asked = Array.from({ length: 16 }, () => claimDelivery(world.pool, webhook.id, 'first'))
    const had = (await Promise.all(asked)).filter((each) => each !== undefined)
    expect(new Set(had.map(({ deliveryId }) => deliveryId)).size).toBe(4)
    for (const each of had) await recordTry(world.pool, each, outcome, again)
    expect(await claimed()).toMatchObject({ tries: 0 })
  })

  it('is not had of a webhook that is not active, even while its deliveries are pending', async () => {
    await endOne()
    await change(`status = 'disabled'`)
    expect(await claimDelivery(world.pool, webhook.id, 'first')).toBeUndefined()
    const claims = 'select claim from webhook_delivery where webhook_id = $1'
    expect((await world.pool.query(claims, [webhook.id])).rows).toEqual([{ claim: 0 }])
    const due = await dueWebhooks(world.pool, 100)
    expect(due.filter((each) => each.webhookId === webhook.id)).toEqual([])
  })
})

describe('webhooks with due first tries', () => {
  it('are found once each, however long the backlog of one is', async () => {
    for (let n = 0; n < 6; n += 1) await endOne()
    const other = await insertTestWebhook(world.pool, (await insertTask(world.pool)).accountId)
    await world.pool.query(
      `insert into webhook_delivery (delivery_id, webhook_id, event) values ('whd_x' || $1, $1, 'webhook.test')`,
      [other],
    )
    const due = await dueWebhooks(world.pool, 100)
    const found = due.filter((each) => [webhook.id, other].includes(each.webhookId))
    expect(Object.fromEntries(found.map((each) => [each.webhookId, each.due]))).toEqual({
      [webhook.id]: 4,
      [other]: 1,
    })
  })
})
