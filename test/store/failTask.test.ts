import { describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { openAttempt, setTask } from '../support/database/reconcileWorld.ts'
import { insertAttempt, loseWorker, testMeta } from '../support/database/testAttempts.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

/** Opens the next attempt and returns its answer id. */
async function opened(taskId: string): Promise<string> {
  return (await openAttempt(world.attempts, taskId)).answerId
}

const creditsOf = (accountId: string) => balanceOf(world.pool, accountId)

describe('failTask', () => {
  it('fails no task while the worker of its open call is present', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const answerId = await opened(taskId)
    expect(await world.attempts.failTask(taskId, failure)).toBe('call_under_way')
    expect(await creditsOf(accountId)).toMatchObject({ held: 10 })
    expect(await world.attempts.settleTask({ meta: testMeta(taskId), answerId })).toBe(true)
    expect(await world.attempts.failTask(taskId, failure)).toBe('succeeded')
  })

  it('fails a task at its hard end, although the worker of its call is present', async () => {
    const { taskId } = await insertTask(world.pool)
    await opened(taskId)
    await setTask(world.pool, taskId, { hard_end_at: 'now()' })
    expect(await world.attempts.failTask(taskId, failure)).toBe('failed')
    expect(await world.attempts.failTask(taskId, failure)).toBe('over')
  })

  it('records that work is possible when an attempt is open', async () => {
    const { taskId } = await insertTask(world.pool)
    await opened(taskId)
    await loseWorker(world.pool, taskId)
    const timeout = { code: 'generation_timeout', cause: 'deadline', workPossible: false } as const
    await world.attempts.failTask(taskId, timeout)
    const { rows } = await world.pool.query(
      'select failure_work_possible from task where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ failure_work_possible: true }])
  })

  it.each([
    ['images.generations', false, 'upstream_error', 0],
    ['images.generations', true, 'upstream_error', 1],
    ['images.generations', true, 'rate_limit_exceeded', 0],
    ['images.tasks', false, 'upstream_error', 1],
    ['images.tasks', true, 'rate_limit_exceeded', 1],
  ] as const)(
    'for route %s, work possible %s and code %s, leaves %i idempotency keys',
    async (...row) => {
      const [route, workPossible, code, keys] = row
      const { taskId, accountId } = await insertTask(world.pool, { route })
      await world.pool.query(`insert into idempotency_key values ($1, '\\x01', $2)`, [
        accountId,
        taskId,
      ])
      await world.attempts.failTask(taskId, { ...failure, code, workPossible })
      const { rowCount } = await world.pool.query(
        'select 1 from idempotency_key where task_id = $1',
        [taskId],
      )
      expect(rowCount).toBe(keys)
    },
  )
})

const refused = {
  code: 'rate_limit_exceeded',
  cause: 'refused',
  workPossible: false,
} as const

describe('tasks of one account that end at once', () => {
  /** Inserts `count` synchronous tasks of one account, each with an idempotency key. */
  async function tasksOf(count: number) {
    const { accountId, taskId } = await insertTask(world.pool, { route: 'images.generations' })
    const taskIds = [taskId]
    while (taskIds.length < count) {
      const next = await insertTask(world.pool, { accountId, route: 'images.generations' })
      taskIds.push(next.taskId)
    }
    await world.pool.query(
      `insert into idempotency_key (account_id, key_digest, task_id)
       select $1, task_id::bytea, task_id from unnest($2::text[]) as asked (task_id)`,
      [accountId, taskIds],
    )
    return { accountId, taskIds }
  }

  it('have each their own failure', async () => {
    const { accountId, taskIds } = await tasksOf(12)
    const failureOf = (at: number): TaskFailure =>
      at % 2 === 0
        ? { ...refused, retryAfterMs: at * 1_000 }
        : { code: 'upstream_invalid_request', cause: 'rejected', workPossible: false }
    const results = await Promise.all(
      taskIds.map((taskId, at) => world.attempts.failTask(taskId, failureOf(at), accountId)),
    )
    expect(results).toEqual(taskIds.map(() => 'failed'))
    const { rows } = await world.pool.query(
      `select failure_code as code, failure_cause as cause, failure_work_possible as "workPossible",
         failure_retry_after_ms::int as "retryAfterMs"
       from task where account_id = $1 order by array_position($2, task_id)`,
      [accountId, taskIds],
    )
    expect(rows).toEqual(taskIds.map((_none, at) => ({ retryAfterMs: null, ...failureOf(at) })))
    expect(await creditsOf(accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
    const keys = 'select from idempotency_key where account_id = $1'
    expect((await world.pool.query(keys, [accountId])).rowCount).toBe(0)
    const entries =
      'select kind, count(*)::int from ledger where account_id = $1 group by 1 order by 1'
    expect((await world.pool.query(entries, [accountId])).rows).toEqual([
      { kind: 'hold', count: 12 },
      { kind: 'release', count: 12 },
    ])
  })

  it.each([1, 3])('end without a task whose call begins meanwhile (%i at once)', async (count) => {
    const { accountId, taskIds } = await tasksOf(count)
    const [calling = '', ...others] = taskIds
    const client = await world.pool.connect()
    await client.query('begin')
    await client.query(`update task set status = 'processing' where task_id = $1`, [calling])
    await insertAttempt(client, calling, 1)
    const failing = taskIds.map((taskId) => world.attempts.failTask(taskId, refused, accountId))
    await untilLockAwaited(world.pool)
    await client.query('commit')
    client.release()
    expect(await Promise.all(failing)).toEqual(['call_under_way', ...others.map(() => 'failed')])
    expect(await creditsOf(accountId)).toMatchObject({ held: 10 })
  })

  it('return their credits to the budget of each key', async () => {
    const { accountId, taskIds } = await tasksOf(6)
    const keyOf = (at: number) => `key_${at % 2}`
    for (const [at, taskId] of taskIds.entries()) {
      await world.pool.query('update task set key_id = $2 where task_id = $1', [taskId, keyOf(at)])
    }
    await world.pool.query(
      `insert into budget_use (key_id, starts_at, ends_at, used)
       select key_id, now() - interval '1 hour', now() + interval '1 hour', 50
       from unnest($1::text[]) as asked (key_id)`,
      [[keyOf(0), keyOf(1)]],
    )
    const failing = taskIds.map((taskId) => world.attempts.failTask(taskId, refused, accountId))
    await Promise.all(failing)
    const { rows } = await world.pool.query('select key_id as key, used from budget_use order by 1')
    expect(rows).toEqual([
      { key: keyOf(0), used: 20 },
      { key: keyOf(1), used: 20 },
    ])
  })
})
