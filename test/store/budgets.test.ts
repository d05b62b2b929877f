import { describe, expect, it } from 'vitest'
import type { Budget } from '../../src/domain/accounts/budget.ts'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { readBudget, setBudget } from '../../src/store/accounts/budgets.ts'
import { withTransaction } from '../../src/store/connection/transaction.ts'
import { purgeTasks } from '../../src/store/tasks/purgeTasks.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import { issueTestKey } from '../support/service/testAccount.ts'
import {
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { runParallel } from '../support/timing.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'cancelled', cause: 'cancelled', workPossible: false }
const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

function changeBudget(keyId: string, budget: Budget | undefined) {
  return withTransaction(world.pool, (client) => setBudget(client, keyId, budget))
}

/** An account with 100,000 credits and one key. Each submit costs 10. */
async function openKey(budget?: Budget) {
  const { pool } = world
  const caller = await createTestCaller(pool, 100_000)
  const { keyId } = await issueTestKey(pool, caller.accountId, pepper, budget && { budget })
  const { accept } = createTestAccept(pool)
  const budgetOf = () => readBudget(pool, keyId)
  return {
    ...caller,
    keyId,
    /** Returns the task id, or `undefined` when the budget has no room. Throws for any other refusal. */
    submit: async () => {
      const answer = await accept({ caller: { ...caller, keyId }, request: generateRequest() })
      if (answer.ok) return answer.value.taskId
      if (answer.failure.tag === 'over_budget') return undefined
      throw new Error(answer.failure.tag)
    },
    used: async () => (await budgetOf())?.used,
    period: async () => (await budgetOf())?.period,
  }
}

describe('a budget', () => {
  it.each([
    ['hour', '2026-03-29T01:59:59.999999Z', '2026-03-29T01:00:00Z', '2026-03-29T02:00:00Z'],
    ['day', '2026-03-29T00:00:00Z', '2026-03-29T00:00:00Z', '2026-03-30T00:00:00Z'],
    ['week', '2026-03-29T23:59:59Z', '2026-03-23T00:00:00Z', '2026-03-30T00:00:00Z'],
    ['week', '2026-03-30T00:00:00Z', '2026-03-30T00:00:00Z', '2026-04-06T00:00:00Z'],
    ['month', '2024-02-29T12:00:00Z', '2024-02-01T00:00:00Z', '2024-03-01T00:00:00Z'],
    ['month', '2026-12-31T23:59:59Z', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ])('has periods in UTC, whatever the time zone of the session: %s [budget-3]', async (...row) => {
    const [period, instant, startsAt, endsAt] = row
    const client = await world.pool.connect()
    try {
      for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Auckland', 'America/St_Johns']) {
        await client.query(`set timezone = '${zone}'`)
        const { rows } = await client.query<{ starts_at: Date; ends_at: Date }>(
          'select starts_at, ends_at from budget_window($1, $2)',
          [period, instant],
        )
        expect(rows).toEqual([{ starts_at: new Date(startsAt), ends_at: new Date(endsAt) }])
      }
    } finally {
      client.release(true)
    }
  })

  it('counts a hold in the period of its submit, wherever it settles or is released [budget-4]', async () => {
    const { pool } = world
    const key = await openKey({ credits: 20, period: 'hour' })
    const [first = '', second = ''] = [await key.submit(), await key.submit()]
    // An hour passes.
    const hour = `- interval '1 hour'`
    await pool.query(
      `update budget_use set starts_at = starts_at ${hour}, ends_at = ends_at ${hour} where key_id = $1`,
      [key.keyId],
    )
    for (const taskId of [first, second]) {
      await setTask(pool, taskId, { created_at: `created_at ${hour}` })
    }
    expect(await key.used()).toBe(0)
    await key.submit()
    await world.attempts.failTask(first, failure, 0)
    expect(await key.used()).toBe(10)
    const { rows } = await pool.query<{ used: number }>(
      'select used from budget_use where key_id = $1 order by starts_at',
      [key.keyId],
    )
    expect(rows.map(({ used }) => used)).toEqual([10, 10])
    // A day later the past period is forgotten.
    await pool.query(
      `update budget_use set ends_at = ends_at - interval '25 hours' where key_id = $1 and ends_at < now()`,
      [key.keyId],
    )
    await purgeTasks(pool, 10)
    const { rowCount } = await pool.query('select from budget_use where key_id = $1', [key.keyId])
    expect(rowCount).toBe(1)
  })
})

describe('a budget that is set later', () => {
  it('counts what live and settled tasks of the period took, also purged ones, but none of another key', async () => {
    const { pool } = world
    const key = await openKey()
    const { accountId, keyId } = key
    const shared = { accountId, keyId, credits: 7 }
    const [purged] = await insertEndedTasks(pool, { ...shared, count: 3 })
    await pool.query('delete from task where task_id = $1', [purged])
    await insertEndedTasks(pool, { ...shared, count: 3, status: 'failed' })
    await insertEndedTasks(pool, {
      ...shared,
      count: 3,
      at: new Date(Date.now() - 32 * 86_400_000).toISOString(),
    })
    await insertEndedTasks(pool, { ...shared, count: 3, keyId: 'key_other' })
    const { accept } = createTestAccept(pool)
    const ofOtherKey = { caller: { ...key, keyId: 'key_other' }, request: generateRequest() }
    expect(await accept(ofOtherKey)).toMatchObject({ ok: true })
    await key.submit()
    const changed = await changeBudget(keyId, { credits: 40, period: 'month' })
    expect(changed).toMatchObject({ budget: '40/month', used: 31 })
    expect(await key.submit()).toBeUndefined()
    await changeBudget(keyId, undefined)
    expect(await key.used()).toBeUndefined()
    expect(await key.submit()).toBeDefined()
  })

  it('is exact while submits and releases are under way', async () => {
    const { pool } = world
    const key = await openKey()
    const live: string[] = []
    const over = new AbortController()
    let submits = 0
    const changes = (async () => {
      const periods = ['month', 'day', 'week', 'month', 'month'] as const
      // They go on until enough tasks were submitted between them, and end with the month.
      while (live.length <= 20) {
        for (const period of periods) await changeBudget(key.keyId, { credits: 50_000, period })
      }
      over.abort()
    })()
    await runParallel(8, 8, async () => {
      while (!over.signal.aborted) {
        live.push((await key.submit()) ?? '')
        const first = (submits += 1) % 3 === 0 ? live.shift() : undefined
        if (first !== undefined) await world.attempts.failTask(first, failure, 0)
      }
    })
    await changes
    expect(live.length).toBeGreaterThan(20)
    expect(await key.used()).toBe(live.length * 10)
    await assertLedgerVerifies(pool)
  })
})
