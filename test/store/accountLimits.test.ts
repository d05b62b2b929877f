import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import type { RequestsLimit, RequestsState } from '../../src/domain/accounts/accountLimits.ts'
import {
  nextRequestSeconds,
  requestsPeriods,
  requestsRemaining,
  windowSeconds,
} from '../../src/domain/accounts/accountLimits.ts'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { newTaskId } from '../../src/domain/ids.ts'
import { readAccount } from '../../src/store/accounts/accountRows.ts'
import type { NewLimits } from '../../src/store/accounts/setLimits.ts'
import { setLimits } from '../../src/store/accounts/setLimits.ts'
import { withTransaction } from '../../src/store/connection/transaction.ts'
import { retryTask } from '../../src/store/tasks/retryTask.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import {
  accepted,
  rowCountOf,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
} from '../support/database/testAccept.ts'

const world = useAttemptWorld()
const failure: TaskFailure = { code: 'cancelled', cause: 'cancelled', workPossible: false }

/** An account with limits, and credits for so many submits. */
async function openAccount(limits: NewLimits, submits = 10_000) {
  const { pool } = world
  const caller = await createTestCaller(pool, submits * 10)
  expect(await setLimits(pool, caller.name, limits)).toBe(true)
  const { accept } = createTestAccept(pool)
  const submit = (key?: string) => {
    const idempotencyKey = key === undefined ? undefined : keyBytes(key)
    return accept({ caller, request: generateRequest(), ...defined({ idempotencyKey }) })
  }
  return {
    ...caller,
    submit,
    /** Returns the task id, or the tag of the refusal. */
    tried: async (key?: string) => {
      const answer = await submit(key)
      return answer.ok ? answer.value.taskId : answer.failure.tag
    },
    limits: async () => (await readAccount(pool, caller.accountId)).limits,
  }
}

describe('a limit of live tasks', () => {
  it('counts a retry of a task, and does not refuse it [rate-5]', async () => {
    const account = await openAccount({ liveTasks: 1, requests: { limit: 2, period: 'hour' } })
    const failed = await account.tried()
    await world.attempts.failTask(failed, failure, 0)
    await account.tried()
    const termsOf = () => ({
      credits: 10,
      smallerPrices: [],
      deadlineMs: 600_000,
      hardEndMs: 900_000,
    })
    const input = { taskId: failed, newTaskId: newTaskId(), termsOf }
    const retried = await withTransaction(world.pool, (client) => retryTask(client, input))
    expect(retried).toMatchObject({ kind: 'retried' })
    expect(await account.limits()).toMatchObject({ live_tasks: { used: 2 } })
  })
})

describe('a limit of requests', () => {
  it('accepts exactly as many of 64 submits at once, and writes nothing for the others [rate-6]', async () => {
    const account = await openAccount({ requests: { limit: 7, period: 'hour' } })
    const submits = Array.from({ length: 64 }, (_, index) => account.tried(`key ${index}`))
    const tried = await Promise.all(submits)
    expect(tried.filter((each) => each !== 'too_many_requests')).toHaveLength(7)
    for (const table of ['task', 'ledger', 'idempotency_key'] as const) {
      expect([table, await rowCountOf(world.pool, table, account.accountId)]).toEqual([table, 7])
    }
  })

  it('begins unused when it is new, goes on when it is set again, and ends when it is removed', async () => {
    const account = await openAccount({ requests: { limit: 1, period: 'hour' } })
    accepted(await account.submit())
    await setLimits(world.pool, account.name, { requests: { limit: 2, period: 'minute' } })
    expect(accepted(await account.submit()).requests).toMatchObject({ limit: 2, period: 'minute' })
    accepted(await account.submit())
    await setLimits(world.pool, account.name, { liveTasks: 100 })
    expect(await account.tried()).toBe('too_many_requests')
    await setLimits(world.pool, account.name, { requests: { limit: 2, period: 'minute' } })
    expect(await account.tried()).toBe('too_many_requests')
    await setLimits(world.pool, account.name, { requests: null })
    expect(accepted(await account.submit())).not.toHaveProperty('requests')
    expect(await account.limits()).toMatchObject({ live_tasks: { limit: 100, used: 4 } })
    expect(await setLimits(world.pool, 'nobody', { liveTasks: 1 })).toBe(false)
  })

  /** A row of `balance` with such a state at an instant. */
  const sql = `
    select request_fits(b, $2) as fits, request_taken(b, $2)::text as taken,
      greatest(0, extract(epoch from case when request_fits(b, $2) then request_taken(b, $2) else b.requests_tat end
        - $2) * 1000000)::float8 as "refillUs"
    from jsonb_populate_record(null::balance, $1) b`
  type Step = { readonly fits: boolean; readonly taken: string; readonly refillUs: number }

  async function stepOf(row: object, at: string): Promise<Step> {
    const { rows } = await world.pool.query<Step>(sql, [row, at])
    if (rows[0] === undefined) throw new Error('a select without from returned no row')
    return rows[0]
  }

  const startMs = Date.UTC(2026, 0, 1)

  it('is a bucket that refills all the time, for every limit and every pause [rate-8]', async () => {
    const limits = fc.record<RequestsLimit>({
      limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(60, 997, 100_000)),
      period: fc.constantFrom(...requestsPeriods),
    })
    const pauses = fc.array(
      fc.oneof(fc.constant(0), fc.double({ min: 0, max: 2.5, noNaN: true })),
      {
        minLength: 8,
        maxLength: 20,
      },
    )
    const { accountId, name } = await openAccount({})
    await fc.assert(
      fc.asyncProperty(limits, pauses, async (limit, intervals) => {
        const intervalUs = Math.round((windowSeconds(limit) * 1_000_000) / limit.limit)
        await setLimits(world.pool, name, { requests: limit })
        const { rows } = await world.pool.query<{ row: object }>(
          'select to_jsonb(balance) as row from balance where account_id = $1',
          [accountId],
        )
        let row = rows[0]?.row ?? {}
        let atUs = 0
        /** The content of the bucket in microseconds of refill: whole numbers, so that the model is exact. */
        const full = limit.limit * intervalUs
        let content = full
        for (const [n, pause] of intervals.entries()) {
          // Some pauses use the bucket up at once, some are a part of an interval, or several.
          const pauseUs = Math.round(pause * intervalUs)
          atUs += pauseUs
          content = Math.min(full, content + pauseUs)
          const step = await stepOf(row, instant(atUs))
          expect([n, step.fits]).toEqual([n, content >= intervalUs])
          if (step.fits) {
            content -= intervalUs
            row = { ...row, requests_tat: step.taken }
          }
          const state: RequestsState = { ...limit, refillUs: step.refillUs }
          expect(requestsRemaining(state)).toBe(Math.floor(content / intervalUs))
          const waitUs = intervalUs - (content % intervalUs)
          expect(nextRequestSeconds(state)).toBe(Math.max(1, Math.ceil(waitUs / 1_000_000)))
        }
      }),
      { numRuns: 40 },
    )
  })

  function instant(atUs: number): string {
    const ms = Math.floor(atUs / 1_000)
    const micros = String(atUs % 1_000).padStart(3, '0')
    return new Date(startMs + ms).toISOString().replace('Z', `${micros}Z`)
  }
})

describe('the refusals of a submit', () => {
  it('are a replay first, then limits, credits and budget [rate-4, idem-6]', async () => {
    const account = await openAccount({ requests: { limit: 2, period: 'hour' }, liveTasks: 1 }, 1)
    const first = await account.tried('first')
    expect(await account.tried('second')).toBe('too_many_live_tasks')
    expect(await account.tried('first')).toBe(first)
    await world.pool.query(
      `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash, budget_credits, budget_period)
       values ('key_limits', $1, 'sk', 'test', 'limits', 1, 'day')`,
      [account.accountId],
    )
    const { accept } = createTestAccept(world.pool)
    const caller = { ...account, keyId: 'key_limits' }
    const beyondAll = () => accept({ caller, request: generateRequest() })
    expect(await beyondAll()).toMatchObject({ failure: { tag: 'too_many_live_tasks' } })
    await setLimits(world.pool, account.name, { liveTasks: null })
    expect(await beyondAll()).toMatchObject({ failure: { tag: 'insufficient_quota' } })
    expect(await account.tried('third')).toBe('insufficient_quota')
    await setLimits(world.pool, account.name, { requests: { limit: 1, period: 'hour' } })
    expect(await account.tried('fourth')).toBe('insufficient_quota')
    // What was refused took nothing of the limit.
    expect(await account.limits()).toEqual({
      requests: { limit: 1, period: 'hour', remaining: 1 },
      live_tasks: null,
    })
  })
})
