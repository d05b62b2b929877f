import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/domain/webhooks/retries.ts'
import { redeliver } from '../../src/store/webhooks/deliveries.ts'
import { claimDelivery, dueWebhooks, recordTry } from '../../src/store/webhooks/tries.ts'
import { endWebhook, neededKeyIds, rotateSecret } from '../../src/store/webhooks/webhooks.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { insertTestWebhook, useTestWebhook } from '../support/database/testWebhooks.ts'

const world = useAttemptWorld()
const webhook = useTestWebhook(world)
const { endOne, claimed, all } = webhook

const again: Verdict = { kind: 'retry', waitMs: 60_000 }
const outcome = { httpStatus: 500, durationMs: 10 }

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

  it('contains the task as it ended, and the secrets that sign now', async () => {
    await endOne()
    await rotateSecret(world.pool, webhook.accountId, webhook.id, 'w2')
    const delivery = await claimed()
    expect(delivery.secrets).toEqual([
      { keyId: 'w2', version: 2 },
      { keyId: 'w1', version: 1 },
    ])
    expect(delivery.task).toMatchObject({ status: 'failed', accountId: webhook.accountId })
    expect(await neededKeyIds(world.pool)).toEqual(expect.arrayContaining(['w1', 'w2']))
  })

  it('is not had of a webhook that is disabled or deleted', async () => {
    await endOne()
    await endWebhook(world.pool, webhook.accountId, webhook.id, 'deleted')
    expect(await claimDelivery(world.pool, webhook.id, 'first')).toBeUndefined()
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

  it('say whether the last try failed', async () => {
    await endOne()
    await endOne()
    await recordTry(world.pool, await claimed(), outcome, again)
    const failing = async () =>
      (await dueWebhooks(world.pool, 100)).find((each) => each.webhookId === webhook.id)?.failing
    expect(await failing()).toBe(true)
    await recordTry(
      world.pool,
      await claimed(),
      { httpStatus: 204, durationMs: 1 },
      { kind: 'delivered' },
    )
    await endOne()
    expect(await failing()).toBe(false)
  })
})

describe('the answer 410', () => {
  const gone = { httpStatus: 410, durationMs: 1 }

  it('is recorded together with the end of its webhook', async () => {
    await endOne()
    await endOne()
    await recordTry(world.pool, await claimed(), gone, { kind: 'gone' })
    expect((await all()).map((each) => each.status)).toEqual(['failed', 'failed'])
    expect((await all()).flatMap((each) => each.attempts)).toMatchObject([{ httpStatus: 410 }])
    expect(await redeliver(world.pool, webhook.id, (await all())[0]?.deliveryId ?? '')).toBe(
      undefined,
    )
  })

  it('leaves no trace when its webhook cannot be disabled', async () => {
    await endOne()
    const delivery = await claimed()
    await world.pool.query(
      `create or replace function break_disable() returns trigger language plpgsql as
       $$ begin raise exception 'broken'; end $$;
       create trigger break_disable before update on webhook for each row
         when (new.status = 'disabled') execute function break_disable()`,
    )
    const recorded = recordTry(world.pool, delivery, gone, { kind: 'gone' })
    await expect(recorded).rejects.toThrow('broken')
    await world.pool.query('drop trigger break_disable on webhook')
    expect(await all()).toMatchObject([{ status: 'pending', attempts: [] }])
  })
})
