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

/** Inserts a task. With `attempts`, its worker was too late for a first call, so the call was not made. */
async function taskAfter(attempts: 0 | 1) {
  const task = await insertTask(world.pool)
  if (attempts === 1) {
    await opened(task.taskId)
    const evidence = { reason: 'not_called' } as const
    await world.attempts.closeAttempt({ taskId: task.taskId, n: 1, class: 'refused', evidence })
  }
  return task
}

describe.each([0, 1] as const)('a task after %i closed attempts', (attempts) => {
  it('fails', async () => {
    const { taskId, accountId } = await taskAfter(attempts)
    expect(await world.attempts.failTask(taskId, refused)).toBe('failed')
    expect(await creditsOf(accountId)).toMatchObject({ held: 0 })
  })

  it('does not fail when a call begins meanwhile', async () => {
    const { taskId, accountId } = await taskAfter(attempts)
    const client = await world.pool.connect()
    await client.query('begin')
    await client.query(`update task set status = 'processing' where task_id = $1`, [taskId])
    await insertAttempt(client, taskId, attempts + 1)
    const failing = world.attempts.failTask(taskId, refused)
    await untilLockAwaited(world.pool)
    await client.query('commit')
    client.release()
    expect(await failing).toBe('call_under_way')
    expect(await creditsOf(accountId)).toMatchObject({ held: 10 })
  })
})

it('frees the key of a synchronous call only', async () => {
  const left = async (route: 'images.generations' | 'images.tasks') => {
    const { taskId, accountId } = await insertTask(world.pool, { route })
    await world.pool.query(
      `insert into idempotency_key (account_id, key_digest, task_id) values ($1, '\\x01', $2)`,
      [accountId, taskId],
    )
    expect(await world.attempts.failTask(taskId, refused)).toBe('failed')
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 0 })
    const key = 'select from idempotency_key where task_id = $1'
    return (await world.pool.query(key, [taskId])).rowCount
  }
  expect(await left('images.generations')).toBe(0)
  expect(await left('images.tasks')).toBe(1)
})
