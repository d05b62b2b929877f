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
  alter table balance drop constraint if exists balance_available_check;
  alter table task disable trigger all;`

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
const deposited = 1_000

type End = 'live' | 'failed' | 'succeeded'

/** An account with one task of 10 credits, written by the service itself. */
async function bookedTask(end: End, credits = 10) {
  const { pool } = database
  const caller = await createTestCaller(pool, deposited)
  const price = { model: 'familyb-image-2-vip', credits, creditsPerInputImage: 0 } as const
  const { accept } = createTestAccept(pool, { prices: [price] })
  const answer = await accept({ caller, request: generateRequest() })
  if (!answer.ok) throw new Error(answer.failure.tag)
  const { taskId } = answer.value
  const attempts = await createTestAttempts(pool)
  if (end === 'failed') await attempts.failTask(taskId, failure, 0)
  if (end === 'succeeded') {
    const { answerId } = await openAttempt(attempts, taskId)
    await attempts.settleTask({ meta: testMeta(taskId), answerId })
  }
  return { taskId, accountId: caller.accountId, name: caller.name }
}

async function found(ids: { accountId: string; taskId: string }) {
  const violations = await verifyLedger(database.pool)
  const mine = violations.filter(
    (one) => one.account_id === ids.accountId || one.task_id === ids.taskId,
  )
  return mine.map(({ kind }) => kind).toSorted()
}

describe('ledger verify', () => {
  it('finds nothing wrong with live, ended, free and purged tasks of the service itself', async () => {
    const { pool } = database
    for (const end of ['live', 'failed', 'succeeded'] as const) {
      await bookedTask(end)
      await bookedTask(end, 0)
    }
    const purged = await bookedTask('succeeded')
    await pool.query('delete from task where task_id = $1', [purged.taskId])
    const deps = { pool, actor: 'cli:test@host' } as const
    for (const credits of [500, -300]) {
      expect(await topUpAccount(deps, { name: purged.name, credits })).toMatchObject({ ok: true })
    }
    expect(await verifyLedger(pool)).toEqual([])
  })

  const faults: readonly {
    readonly fault: string
    readonly end: End
    readonly credits?: number
    /** `:account` and `:task` stand for the ids of the case. */
    readonly sql: string
    readonly finds: readonly string[]
  }[] = [
    {
      fault: 'a balance that lost its row',
      end: 'failed',
      sql: 'delete from balance where account_id = :account',
      finds: ['account_without_balance', 'available_differs', 'deposits_differ'],
    },
    {
      fault: 'a balance of no account',
      end: 'failed',
      sql: `with gone as (delete from task where account_id = :account)
        delete from account where account_id = :account`,
      finds: ['balance_without_account'],
    },
    {
      fault: 'a negative balance that nothing was entered for',
      end: 'failed',
      sql: 'update balance set available = -1 where account_id = :account',
      finds: ['available_differs', 'negative_balance', 'spent_differs'],
    },
    {
      fault: 'credits spent without an entry',
      end: 'succeeded',
      sql: 'update balance set available = available - 1 where account_id = :account',
      finds: ['available_differs', 'spent_differs'],
    },
    {
      fault: 'a deposit that was taken away',
      end: 'failed',
      sql: `delete from ledger where account_id = :account and kind = 'deposit'`,
      finds: ['available_differs', 'deposits_differ'],
    },
    {
      fault: 'a hold that is missing',
      end: 'live',
      sql: `delete from ledger where task_id = :task`,
      finds: ['available_differs', 'held_differs', 'hold_missing'],
    },
    {
      fault: 'a second hold',
      end: 'live',
      sql: `insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id)
        select account_id, task_id, kind, debit, credit, credits, key_id from ledger
        where task_id = :task`,
      finds: ['available_differs', 'held_differs', 'hold_twice'],
    },
    {
      fault: 'a hold with credits of a free task',
      end: 'live',
      credits: 0,
      sql: 'update ledger set credits = 1 where task_id = :task',
      finds: ['available_differs', 'credits_differ', 'held_differs'],
    },
    {
      fault: 'a free task that ended without an entry',
      end: 'succeeded',
      credits: 0,
      sql: `delete from ledger where task_id = :task and kind = 'settle'`,
      finds: ['succeeded_not_settled'],
    },
    {
      fault: 'an end that names another key',
      end: 'failed',
      sql: `update ledger set key_id = 'key_other' where task_id = :task and kind = 'release'`,
      finds: ['key_differs'],
    },
    {
      fault: 'a hold that counts against no key',
      end: 'succeeded',
      sql: `update ledger set key_id = null where task_id = :task and kind = 'hold'`,
      finds: ['key_differs'],
    },
    {
      fault: 'an end that names another model',
      end: 'succeeded',
      sql: `update ledger set model = 'familya-3-pro-image' where task_id = :task and kind = 'settle'`,
      finds: ['model_differs'],
    },
    {
      fault: 'an end that was entered at another time',
      end: 'failed',
      sql: `update ledger set created_at = created_at - interval '1 microsecond'
        where task_id = :task and kind = 'release'`,
      finds: ['end_time_differs'],
    },
    {
      fault: 'a hold of other credits than the task',
      end: 'live',
      sql: 'update task set credits = 11 where task_id = :task',
      finds: ['credits_differ', 'held_differs', 'spent_differs'],
    },
    {
      fault: 'an end of other credits than the hold',
      end: 'succeeded',
      sql: `update ledger set credits = 9 where task_id = :task and kind = 'settle'`,
      finds: ['credits_differ', 'held_differs', 'spent_differs'],
    },
    {
      fault: 'an entry that went to another account',
      end: 'live',
      sql: `update ledger set account_id = 'acct_other' where task_id = :task`,
      finds: ['account_differs', 'available_differs', 'held_differs'],
    },
    {
      fault: 'a task both settled and released',
      end: 'succeeded',
      sql: `insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id, model,
          channel, created_at)
        select account_id, task_id, 'release', 'held', 'available', credits, key_id, model, channel,
          created_at
        from ledger where task_id = :task and kind = 'settle'`,
      finds: ['available_differs', 'end_twice', 'held_differs'],
    },
    {
      fault: 'an end whose hold is gone',
      end: 'failed',
      sql: `delete from ledger where task_id = :task and kind = 'hold'`,
      finds: ['available_differs', 'end_without_hold', 'held_differs', 'hold_missing'],
    },
    {
      fault: 'a live task that was released',
      end: 'failed',
      sql: `update task set status = 'queued', completed_at = null, failure_code = null
        where task_id = :task`,
      finds: ['held_differs', 'live_task_ended', 'spent_differs'],
    },
    {
      fault: 'a succeeded task that was never charged',
      end: 'live',
      sql: `update task set status = 'succeeded', completed_at = now(), answer_id = 'an'
        where task_id = :task`,
      finds: ['held_differs', 'spent_differs', 'succeeded_not_settled'],
    },
    {
      fault: 'a failed task whose credits are held for ever',
      end: 'live',
      sql: `update task set status = 'failed', completed_at = now(), failure_code = 'cancelled'
        where task_id = :task`,
      finds: ['failed_not_released', 'held_differs', 'spent_differs'],
    },
    {
      fault: 'credits held for a task that is gone',
      end: 'live',
      sql: 'delete from task where task_id = :task',
      finds: ['held_differs', 'held_without_task', 'spent_differs'],
    },
  ]

  for (const { fault, end, credits, sql, finds } of faults) {
    it(`finds ${fault} [money-2]`, async () => {
      const ids = await bookedTask(end, credits)
      await database.pool.query(withoutConstraints)
      await database.pool.query(
        sql.replaceAll(':account', `'${ids.accountId}'`).replaceAll(':task', `'${ids.taskId}'`),
      )
      expect(await found(ids)).toEqual(finds)
    })
  }
})

describe('the ledger table', () => {
  it('refuses UPDATE, DELETE and TRUNCATE', async () => {
    const fresh = await createTestDatabase()
    await createTestCaller(fresh.pool, 5)
    for (const sql of ['update ledger set credits = 6', 'delete from ledger', 'truncate ledger']) {
      await expect(fresh.pool.query(sql)).rejects.toThrow('the ledger is append-only')
    }
    await fresh.drop()
  })
})
