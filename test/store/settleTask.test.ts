import { describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { balanceOf, endsOf } from '../support/database/money.ts'
import { openAttempt, setTask } from '../support/database/reconcileWorld.ts'
import {
  insertAttempt,
  loseWorker,
  outcomesOf,
  testMeta,
  letBackoffPass,
  countOpenAttempts,
} from '../support/database/testAttempts.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

describe('settleTask', () => {
  it('charges a task once when its answer is settled several times at once', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, taskId)
    const input = { meta: testMeta(taskId), answerId }
    const settled = await Promise.all([1, 2, 3, 4].map(() => world.attempts.settleTask(input)))
    expect(settled.filter(Boolean)).toHaveLength(1)
    expect(await endsOf(world.pool, taskId)).toEqual(['settle'])
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 990, held: 0, spent: 10 })
  })

  it('settles many tasks of one account at once, each with its own image', async () => {
    const caller = await createTestCaller(world.pool, 100)
    const { accept } = createTestAccept(world.pool)
    const open = await Promise.all(
      Array.from({ length: 8 }, async (_none, n) => {
        const { taskId } = accepted(await accept({ caller, request: generateRequest() }))
        const { answerId, accountId } = await openAttempt(world.attempts, taskId)
        const meta = testMeta(taskId)
        const image = { ...meta.image, bytes: n, sha256: `${n}` }
        const native = { response: { text: 'x'.repeat(n === 5 ? 16 * 1024 : 10) }, imagePath: [] }
        return { meta: { ...meta, image, native }, answerId, accountId }
      }),
    )
    const [cancelled] = open
    if (cancelled === undefined) throw new Error('no task')
    await loseWorker(world.pool, cancelled.meta.taskId)
    await world.attempts.failTask(cancelled.meta.taskId, failure)
    const settled = await Promise.all(open.map((input) => world.attempts.settleTask(input)))
    expect(settled).toEqual(open.map((input) => input !== cancelled))
    const { rows } = await world.pool.query(
      `select task_id, answer_id, asset_bytes, asset_sha256, native_response,
         (select class from attempt where attempt.task_id = task.task_id) as class
       from task where account_id = $1 and status = 'succeeded' order by asset_bytes`,
      [caller.accountId],
    )
    expect(rows).toEqual(
      open.slice(1).map(({ meta, answerId }) => ({
        task_id: meta.taskId,
        answer_id: answerId,
        asset_bytes: meta.image.bytes,
        asset_sha256: meta.image.sha256,
        native_response: JSON.stringify(meta.native),
        class: 'succeeded',
      })),
    )
    expect(await balanceOf(world.pool, caller.accountId)).toEqual({
      available: 100 - 7 * 10,
      held: 0,
      spent: 7 * 10,
    })
  })

  it('neither publishes nor charges a success that comes after the release [money-12]', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, taskId)
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.failTask(taskId, failure)).toBe('failed')
    expect(await world.attempts.settleTask({ meta: testMeta(taskId), answerId })).toBe(false)
    expect(await endsOf(world.pool, taskId)).toEqual(['release'])
    expect(await balanceOf(world.pool, accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
    const { rows } = await world.pool.query(
      'select status, answer_id from task where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ status: 'failed', answer_id: null }])
  })

  it('settles the answer of an attempt that counted as lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, taskId)
    await world.attempts.beginAttempt({ taskId, checked: 1 })
    expect(await world.attempts.answerIdsOf(taskId)).toEqual([answerId])
    expect(await world.attempts.settleTask({ meta: testMeta(taskId), answerId })).toBe(true)
    expect(await endsOf(world.pool, taskId)).toEqual(['settle'])
  })

  it('closes the attempt of a worker that finishes after the task has ended', async () => {
    const failed = await insertTask(world.pool)
    const { answerId: failedAnswer } = await openAttempt(world.attempts, failed.taskId)
    await setTask(world.pool, failed.taskId, { hard_end_at: 'now()' })
    await world.attempts.failTask(failed.taskId, failure)
    expect(await countOpenAttempts(world.pool, failed.taskId)).toBe(1)
    await world.attempts.settleTask({ meta: testMeta(failed.taskId), answerId: failedAnswer })
    expect(await countOpenAttempts(world.pool, failed.taskId)).toBe(0)

    const settled = await insertTask(world.pool)
    const { answerId: firstAnswer } = await openAttempt(world.attempts, settled.taskId)
    await loseWorker(world.pool, settled.taskId)
    await world.attempts.beginAttempt({ taskId: settled.taskId, checked: 1 })
    await letBackoffPass(world.pool, settled.taskId)
    const { answerId: secondAnswer } = await openAttempt(world.attempts, settled.taskId)
    await world.attempts.settleTask({ meta: testMeta(settled.taskId, 1), answerId: firstAnswer })
    expect(await countOpenAttempts(world.pool, settled.taskId)).toBe(1)
    await world.attempts.settleTask({ meta: testMeta(settled.taskId, 2), answerId: secondAnswer })
    expect(await countOpenAttempts(world.pool, settled.taskId)).toBe(0)
  })

  it('drops prompt and inputs on success and keeps the answer for its retention and a grace for downloads [life-5]', async () => {
    const { taskId } = await insertTask(world.pool)
    await world.pool.query(
      `insert into upload (upload_id, kind, task_id, sweep_after) values ($1, 'input', $2, 'infinity')`,
      [`in-${taskId}`, taskId],
    )
    const { answerId } = await openAttempt(world.attempts, taskId)
    await world.attempts.settleTask({ meta: testMeta(taskId), answerId })
    const { rows } = await world.pool.query(
      `select u.kind, u.sweep_after <= now() as swept,
         u.sweep_after = t.expires_at + interval '15 minutes' as kept, t.request
       from upload u join task t using (task_id) where task_id = $1 order by kind`,
      [taskId],
    )
    expect(rows).toEqual([
      { kind: 'answer', swept: false, kept: true, request: null },
      { kind: 'input', swept: true, kept: false, request: null },
    ])
  })

  it('waits for a transaction that has locked the task, then settles it and sees the attempt that was opened there', async () => {
    const { pool } = world
    const { taskId, accountId } = await insertTask(pool)
    const { answerId } = await openAttempt(world.attempts, taskId)
    const meta = testMeta(taskId)

    const client = await pool.connect()
    await client.query('begin')
    await client.query('select from task where task_id = $1 for update', [taskId])
    const settling = world.attempts.settleTask({ meta, answerId })
    await untilLockAwaited(world.pool)
    const secondAnswerId = await insertAttempt(client, taskId, 2)
    await client.query(
      `insert into upload (upload_id, kind, task_id, sweep_after) values ($1, 'answer', $2, 'infinity')`,
      [secondAnswerId, taskId],
    )
    await client.query('update task set checks = 0 where task_id = $1', [taskId])
    await client.query('commit')
    client.release()

    expect(await settling).toBe(true)
    const { rows } = await pool.query(
      `select sweep_after < 'infinity' as due from upload where upload_id = $1`,
      [secondAnswerId],
    )
    expect(rows).toEqual([{ due: true }])
    expect(await outcomesOf(pool, taskId)).toEqual(['succeeded image', 'open '])
    expect(await balanceOf(pool, accountId)).toMatchObject({ held: 0 })
  })
})
