import { describe, expect, it } from 'vitest'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { topUpAccount } from '../../src/operations/accounts.ts'
import {
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { createTestAttempts, openAttempt, testMeta } from '../support/database/testAttempts.ts'
import { createTestDatabase, useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

/** Removes the constraints and triggers that prevent these faults, so that a test can write each one. */
const withoutConstraints = `
  alter table ledger disable trigger user;
  drop index if exists ledger_one_hold;
  drop index if exists ledger_one_end;
  drop index if exists ledger_one_refund;
  alter table balance drop constraint if exists balance_available_check;
  alter table task disable trigger all;`

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
const deposited = 1_000

type End = 'live' | 'failed' | 'succeeded' | 'refunded'

/**
 * An account with one task of 10 credits, written by the service itself. The image of a refunded one has a size that
 * costs 4.
 */
async function bookedTask(end: End, credits = 10) {
  const { pool } = database
  const caller = await createTestCaller(pool, deposited)
  const price = { model: 'familyb-image-2-vip', credits, creditsPerInputImage: 0 } as const
  const smaller = { ...price, size: '1024x1024', credits: Math.min(4, credits) } as const
  const { accept } = createTestAccept(pool, { prices: [smaller, price] })
  const answer = await accept({ caller, request: generateRequest({ size: '2048x2048' }) })
  if (!answer.ok) throw new Error(answer.failure.tag)
  const { taskId } = answer.value
  const attempts = await createTestAttempts(pool)
  if (end === 'failed') await attempts.failTask(taskId, failure, 0)
  if (end === 'succeeded' || end === 'refunded') {
    const { answerId } = await openAttempt(attempts, taskId)
    const sides = end === 'refunded' ? { width: 1254, height: 1254 } : {}
    await attempts.settleTask({ meta: testMeta(taskId, 1, sides), answerId })
  }
  return { taskId, accountId: caller.accountId, name: caller.name }
}

describe('ledger verify', () => {
  it('finds nothing wrong with live, ended, free and purged tasks of the service itself', async () => {
    const { pool } = database
    for (const end of ['live', 'failed', 'succeeded', 'refunded'] as const) {
      await bookedTask(end)
      await bookedTask(end, 0)
    }
    await pool.query('delete from task where task_id = $1', [(await bookedTask('refunded')).taskId])
    const purged = await bookedTask('succeeded')
    await pool.query('delete from task where task_id = $1', [purged.taskId])
    const deps = { pool, actor: 'cli:test@host' } as const
    for (const credits of [500, -300]) {
      expect(await topUpAccount(deps, { name: purged.name, credits })).toMatchObject({ ok: true })
    }
    expect(await verifyLedger(pool)).toEqual([])
  })

  // Together these have every kind of violation. `:account` and `:task` stand for the ids of the case.
  it.each<readonly [fault: string, end: End, sql: string, finds: string]>([
    [
      'a balance that lost its row',
      'failed',
      'delete from balance where account_id = :account',
      'account_without_balance available_differs deposits_differ',
    ],
    [
      'a balance of no account',
      'failed',
      `with gone as (delete from task where account_id = :account)
        delete from account where account_id = :account`,
      'balance_without_account',
    ],
    [
      'a negative balance that nothing was entered for',
      'failed',
      'update balance set available = -1 where account_id = :account',
      'available_differs negative_balance spent_differs',
    ],
    [
      'a hold that is missing',
      'live',
      `delete from ledger where task_id = :task`,
      'available_differs held_differs hold_missing',
    ],
    [
      'a second hold',
      'live',
      `insert into ledger (account_id, task_id, kind, credits, key_id)
        select account_id, task_id, kind, credits, key_id from ledger
        where task_id = :task`,
      'available_differs held_differs hold_twice',
    ],
    [
      'an end that names another key',
      'failed',
      `update ledger set key_id = 'key_other' where task_id = :task and kind = 'release'`,
      'key_differs',
    ],
    [
      'a hold that counts against no key',
      'succeeded',
      `update ledger set key_id = null where task_id = :task and kind = 'hold'`,
      'key_differs',
    ],
    [
      'an end that names another model',
      'succeeded',
      `update ledger set model = 'familya-3-pro-image' where task_id = :task and kind = 'settle'`,
      'model_differs',
    ],
    [
      'an end that was entered at another time',
      'failed',
      `update ledger set created_at = created_at - interval '1 microsecond'
        where task_id = :task and kind = 'release'`,
      'end_time_differs',
    ],
    [
      'an end of other credits than the hold',
      'succeeded',
      `update ledger set credits = 9 where task_id = :task and kind = 'settle'`,
      'credits_differ held_differs spent_differs',
    ],
    [
      'a refund of more than the size of the image says',
      'refunded',
      `update ledger set credits = case kind when 'settle' then 3 else 7 end
        where task_id = :task and kind <> 'hold';
      update balance set available = available + 1 where account_id = :account`,
      'refund_differs',
    ],
    [
      'a refund that the row has and the ledger has not',
      'refunded',
      `delete from ledger where task_id = :task and kind = 'refund';
      update ledger set credits = 10 where task_id = :task and kind = 'settle';
      update balance set available = available - 6 where account_id = :account`,
      'refund_differs',
    ],
    [
      'an image that was charged as one of another size',
      'refunded',
      `update task set asset_width = 2048, asset_height = 2048 where task_id = :task`,
      'refund_differs',
    ],
    [
      'a refund beside the whole charge',
      'succeeded',
      `insert into ledger (account_id, task_id, kind, credits, key_id, model, channel, created_at)
        select account_id, task_id, 'refund', 6, key_id, model, channel, created_at
        from ledger where task_id = :task and kind = 'settle'`,
      'available_differs credits_differ held_differs refund_differs',
    ],
    [
      'a second refund',
      'refunded',
      `insert into ledger (account_id, task_id, kind, credits, key_id, model, channel, created_at)
        select account_id, task_id, kind, credits, key_id, model, channel, created_at
        from ledger where task_id = :task and kind = 'refund'`,
      'available_differs credits_differ held_differs refund_differs refund_twice',
    ],
    [
      'a refund of a task that failed',
      'failed',
      `insert into ledger (account_id, task_id, kind, credits, key_id, model, channel, created_at)
        select account_id, task_id, 'refund', 6, key_id, model, 'b-main', created_at
        from ledger where task_id = :task and kind = 'release'`,
      'available_differs credits_differ held_differs refund_differs refund_without_settlement',
    ],
    [
      'a refund for another key, model and time',
      'refunded',
      `update ledger set key_id = 'a', model = 'a', created_at = created_at - interval '1 s'
        where task_id = :task and kind = 'refund'`,
      'end_time_differs key_differs model_differs',
    ],
    [
      'a refund of a purged task that is more than the rest of its hold',
      'refunded',
      `update ledger set credits = 7 where task_id = :task and kind = 'refund';
      delete from task where task_id = :task`,
      'available_differs credits_differ held_differs',
    ],
    [
      'an entry that went to another account',
      'live',
      `update ledger set account_id = 'acct_other' where task_id = :task`,
      'account_differs available_differs held_differs',
    ],
    [
      'a task both settled and released',
      'succeeded',
      `insert into ledger (account_id, task_id, kind, credits, key_id, model, created_at)
        select account_id, task_id, 'release', credits, key_id, model, created_at
        from ledger where task_id = :task and kind = 'settle'`,
      'available_differs end_twice held_differs',
    ],
    [
      'an end whose hold is gone',
      'failed',
      `delete from ledger where task_id = :task and kind = 'hold'`,
      'available_differs end_without_hold held_differs hold_missing',
    ],
    [
      'a live task that was released',
      'failed',
      `update task set status = 'queued', completed_at = null, failure_code = null
        where task_id = :task`,
      'held_differs live_task_ended spent_differs',
    ],
    [
      'a succeeded task that was never charged',
      'live',
      `update task set status = 'succeeded', completed_at = now(), answer_id = 'an'
        where task_id = :task`,
      'held_differs spent_differs succeeded_not_settled',
    ],
    [
      'a failed task whose credits are held for ever',
      'live',
      `update task set status = 'failed', completed_at = now(), failure_code = 'cancelled'
        where task_id = :task`,
      'failed_not_released held_differs spent_differs',
    ],
    [
      'credits held for a task that is gone',
      'live',
      'delete from task where task_id = :task',
      'held_differs held_without_task spent_differs',
    ],
  ])('finds %s [money-2]', async (_fault, end, sql, finds) => {
    const { accountId, taskId } = await bookedTask(end)
    await database.pool.query(withoutConstraints)
    await database.pool.query(
      sql.replaceAll(':account', `'${accountId}'`).replaceAll(':task', `'${taskId}'`),
    )
    const violations = await verifyLedger(database.pool)
    const own = violations.filter((one) => one.account_id === accountId || one.task_id === taskId)
    expect(own.map(({ kind }) => kind).toSorted()).toEqual(finds.split(' '))
  })
})

describe('the ledger table', () => {
  it('refuses UPDATE, DELETE and TRUNCATE', async () => {
    const fresh = await createTestDatabase()
    await createTestCaller(fresh.pool, 5)
    for (const sql of ['update ledger set credits = 6', 'delete from ledger', 'truncate ledger']) {
      await expect(fresh.pool.query(sql)).rejects.toThrow('the ledger is append-only')
    }
    await fresh.close()
  })
})
