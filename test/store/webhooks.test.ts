import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Verdict } from '../../src/domain/webhooks/retries.ts'
import { claimDue } from '../../src/store/webhooks/claimDue.ts'
import { insertTestDelivery, redeliver } from '../../src/store/webhooks/deliveries.ts'
import { recordTry } from '../../src/store/webhooks/recordTry.ts'
import {
  enableWebhook,
  endWebhook,
  forgetWebhooks,
  readWebhook,
} from '../../src/store/webhooks/webhookRows.ts'
import { createSweepSteps } from '../../src/tasks/reconcile/sweepSteps.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import {
  deliveriesOf,
  insertTestWebhook,
  useTestWebhook,
} from '../support/database/testWebhooks.ts'
import { whileUncommitted } from '../support/database/whileUncommitted.ts'

const world = useAttemptWorld()
const webhook = useTestWebhook(world)
const { endOne, claim, claimOne, all } = webhook
const pending = async () => (await all()).filter(({ status }) => status === 'pending')

/** Sets columns of the webhook and leaves its deliveries as they are. */
const change = (columns: string) =>
  world.pool.query(`update webhook set ${columns} where webhook_id = $1`, [webhook.id])

/** What the reconciler does for webhooks. */
const reconcile = () => {
  const steps = createSweepSteps({ pool: world.pool, blobs: { deletePrefix: async () => {} } })
  const step = steps.find(({ name }) => name === 'webhook')
  return step?.run(new AbortController().signal, () => {})
}

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: false } as const
const again: Verdict = { kind: 'retry', waitMs: 60_000 }
const outcome = { httpStatus: 500, durationMs: 10 }

it('an account has at most five webhooks, also when it registers eight more at once [hook-8]', async () => {
  const atOnce = <Done>(one: () => Promise<Done>) => Array.from({ length: 8 }, one)
  // Opens the connections, so that none of the eight has to wait for its own.
  await Promise.all(atOnce(() => world.pool.query('select pg_sleep(0.1)')))
  const registered = await Promise.allSettled(
    atOnce(() => insertTestWebhook(world.pool, webhook.accountId)),
  )
  expect(registered.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
})

it('a look that finds nothing due is one statement, and no transaction', async () => {
  const [query, connect] = [vi.spyOn(world.pool, 'query'), vi.spyOn(world.pool, 'connect')]
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await claimDue(world.pool, { claimsMax: 10, failingToo: true })).toEqual([])
  expect(query).toHaveBeenCalledOnce()
  // A pool connects for its own statement too.
  expect(connect).toHaveBeenCalledOnce()
})

// Which webhooks an end has a delivery for is in transitionsModel.test.ts.

describe('the end of a task', () => {
  it('writes nothing that a rolled back end would leave [hook-10]', async () => {
    const { taskId } = await insertTask(world.pool, { accountId: webhook.accountId })
    await world.pool.query(
      `create or replace function break_end() returns trigger language plpgsql as
       $$ begin raise exception 'broken'; end $$;
       create trigger break_end before insert on ledger for each row when (new.kind = 'release')
         execute function break_end()`,
    )
    await expect(world.attempts.failTask(taskId, failure, 0)).rejects.toThrow('broken')
    await world.pool.query('drop trigger break_end on ledger')
    expect(await all()).toEqual([])
    await world.attempts.failTask(taskId, failure, 0)
    expect(await all()).toHaveLength(1)
  })

  it('leaves no pending delivery for long when its webhook is disabled at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { taskId } = await insertTask(world.pool, { accountId: webhook.accountId })
      await Promise.all([
        world.attempts.failTask(taskId, failure, 0),
        endWebhook(world.pool, webhook.id, 'disabled'),
      ])
      expect(await claim()).toEqual([])
      await reconcile()
      expect(await pending()).toEqual([])
      await enableWebhook(world.pool, webhook.accountId, webhook.id)
    }
  })

  it('that met a webhook whose row is deleted meanwhile is repeated, and loses nothing [hook-10]', async () => {
    const other = await insertTestWebhook(world.pool, webhook.accountId)
    const { taskId } = await insertTask(world.pool, { accountId: webhook.accountId })
    // The end has begun and seen the webhook, and waits for the balance.
    const balance = [
      'select from balance where account_id = $1 for update',
      webhook.accountId,
    ] as const
    const end = () => world.attempts.failTask(taskId, failure, 0)
    const ended = await whileUncommitted(world.pool, balance, end, async () => {
      await endWebhook(world.pool, webhook.id, 'deleted')
      expect(await forgetWebhooks(world.pool)).toBe(1)
    })
    expect(ended).toBe('failed')
    expect(await all()).toEqual([])
    expect(await deliveriesOf(world.pool, other)).toMatchObject([{ task_id: taskId }])
    const { rows } = await world.pool.query(
      `select kind, count(*)::int from ledger where task_id = $1 group by kind order by kind`,
      [taskId],
    )
    expect(rows).toEqual([
      { kind: 'hold', count: 1 },
      { kind: 'release', count: 1 },
    ])
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
  it('lets tasks of the account end meanwhile, and records none of these ends', async () => {
    await insertMany()
    const blocker = await world.pool.connect()
    await blocker.query('begin')
    await blocker.query('select from webhook_delivery where webhook_id = $1 for update', [
      webhook.id,
    ])
    const ended = endWebhook(world.pool, webhook.id, 'disabled')
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
    for (const finish of [
      reconcile,
      () => enableWebhook(world.pool, webhook.accountId, webhook.id),
    ]) {
      await endOne()
      await change(`status = 'disabled'`)
      expect(await pending()).toHaveLength(1)
      await finish()
      expect(await pending()).toEqual([])
      await enableWebhook(world.pool, webhook.accountId, webhook.id)
    }
  })
})

describe('a redelivery that is asked for during a try', () => {
  it('is not ended by the failure of that try, and is ended by its success', async () => {
    await endOne()
    const earlier = await claimOne()
    await redeliver(world.pool, earlier.deliveryId, webhook.id)
    await recordTry(world.pool, earlier, outcome, { kind: 'given_up' })
    expect(await all()).toMatchObject([{ status: 'pending', attempts: [] }])
    const success = { httpStatus: 200, durationMs: 1 }
    await recordTry(world.pool, earlier, success, { kind: 'delivered' })
    expect(await all()).toMatchObject([{ status: 'delivered', attempts: [{ http_status: 200 }] }])
  })
})

describe('a deleted webhook', () => {
  it('is forgotten with its last delivery', async () => {
    const taskId = await endOne()
    await endWebhook(world.pool, webhook.id, 'deleted')
    await forgetWebhooks(world.pool)
    const left = () => world.pool.query('select from webhook where webhook_id = $1', [webhook.id])
    expect((await left()).rowCount).toBe(1)
    await world.pool.query('delete from task where task_id = $1', [taskId])
    expect(await forgetWebhooks(world.pool)).toBeGreaterThanOrEqual(1)
    expect((await left()).rowCount).toBe(0)
  })

  it('is forgotten with its ended tests, which no purge deletes', async () => {
    await insertTestDelivery(world.pool, webhook.id)
    await endWebhook(world.pool, webhook.id, 'deleted')
    await reconcile()
    const left = await world.pool.query('select from webhook where webhook_id = $1', [webhook.id])
    expect(left.rowCount).toBe(0)
  })
})

it('a webhook keeps its newest twenty test events', async () => {
  for (let n = 0; n < 22; n += 1) {
    await insertTestDelivery(world.pool, webhook.id)
    await world.pool.query(
      `update webhook_delivery set status = 'failed', next_attempt_at = null where webhook_id = $1`,
      [webhook.id],
    )
  }
  expect(await all()).toHaveLength(20)
})

describe('a claim', () => {
  it('is had by one process, until its time is over', async () => {
    await endOne()
    const first = await claimOne()
    expect(first).toMatchObject({ tries: 0, claim: 1, url: 'https://receiver.example/' })
    expect(await claim()).toEqual([])
    await world.pool.query(
      'update webhook_delivery set claimed_until = now() where delivery_id = $1',
      [first.deliveryId],
    )
    const second = await claimOne()
    expect(second).toMatchObject({ deliveryId: first.deliveryId, claim: 2, tries: 0 })
    // The first process was stopped and comes back: only a success counts.
    const gone = { httpStatus: 410, durationMs: 1 }
    await recordTry(world.pool, first, outcome, again)
    await recordTry(world.pool, first, gone, { kind: 'gone' })
    expect(await all()).toMatchObject([{ status: 'pending', attempts: [] }])
    const { rows } = await world.pool.query(
      'select status, failing_since from webhook where webhook_id = $1',
      [webhook.id],
    )
    expect(rows).toEqual([{ status: 'active', failing_since: null }])
    await recordTry(world.pool, first, { httpStatus: 200, durationMs: 1 }, { kind: 'delivered' })
    expect(await all()).toMatchObject([{ status: 'delivered', attempts: [{ http_status: 200 }] }])
    await recordTry(world.pool, second, outcome, again)
    expect(await all()).toMatchObject([{ status: 'delivered', attempts: [{ http_status: 200 }] }])
  })

  it('is had for four deliveries of one webhook at once', async () => {
    for (let n = 0; n < 3; n += 1) await endOne()
    expect(await claim()).toHaveLength(3)
    for (let n = 0; n < 3; n += 1) await endOne()
    expect(await claim()).toHaveLength(1)
  })

  it('takes webhooks that do not fail first, and the others only when it may', async () => {
    await claimDue(world.pool, { claimsMax: 1_000, failingToo: true })
    for (let n = 0; n < 3; n += 1) await endOne()
    const [failed] = await claim()
    if (failed === undefined) throw new Error('nothing to claim')
    await recordTry(world.pool, failed, outcome, { kind: 'retry', waitMs: 0 })
    await world.pool.query(
      'update webhook_delivery set claimed_until = null where webhook_id = $1',
      [webhook.id],
    )
    const well = await insertTestWebhook(world.pool, (await insertTask(world.pool)).accountId)
    const insertDue = (id: string, count: number, age: string) =>
      world.pool.query(
        `insert into webhook_delivery (delivery_id, webhook_id, event, next_attempt_at)
         select 'whd_' || gen_random_uuid(), $1, 'webhook.test', now() - $3::interval from generate_series(1, $2)`,
        [id, count, age],
      )
    const claimed = async (claimsMax: number, failingToo: boolean) =>
      (await claimDue(world.pool, { claimsMax, failingToo })).map((each) => each.webhookId)
    await insertDue(well, 1, '0 seconds')
    expect(await claimed(1, true)).toEqual([well])
    expect(await claimed(9, false)).toEqual([])
    expect(await claimed(2, true)).toEqual([webhook.id, webhook.id])
    expect(await claimed(9, true)).toEqual([webhook.id])

    // Among webhooks that are alike, the one with an old backlog does not take all claims.
    const other = await insertTestWebhook(world.pool, (await insertTask(world.pool)).accountId)
    await insertDue(well, 3, '1 hour')
    await insertDue(other, 3, '0 seconds')
    expect((await claimed(2, true)).toSorted()).toEqual([other, well].toSorted())
  })
})
