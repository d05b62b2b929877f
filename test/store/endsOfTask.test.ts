import { describe, expect, it, onTestFinished } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { topUp } from '../../src/store/accounts/accounts.ts'
import { cancelTask } from '../../src/store/tasks/cancelTask.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf, entriesOf, endsOf } from '../support/database/money.ts'
import { openAttempt, endLease, setTask } from '../support/database/reconcileWorld.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import {
  createTestAttempts,
  loseWorker,
  outcomesOf,
  testMeta,
  letBackoffPass,
  countOpenAttempts,
} from '../support/database/testAttempts.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

describe('settleTask, failTask and cancelTask', () => {
  it('settles or releases, but not both, when both come at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { taskId } = await insertTask(world.pool)
      const { answerId } = await openAttempt(world.attempts, taskId)
      await loseWorker(world.pool, taskId)
      const both = await Promise.all([
        world.attempts.settleTask({ meta: testMeta(taskId), answerId }),
        world.attempts.failTask(taskId, failure).then((result) => result === 'failed'),
      ])
      expect(both.filter(Boolean)).toHaveLength(1)
      expect(await endsOf(world.pool, taskId)).toHaveLength(1)
    }
  })

  it('closes the open attempt of a lost worker when it ends the task', async () => {
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.failTask(taskId, failure)).toBe('failed')
    expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
  })

  it('closes attempts as lost when their lease has run out', async () => {
    const failed = await insertTask(world.pool)
    await openAttempt(world.attempts, failed.taskId)
    await endLease(world.pool, failed.taskId)
    await setTask(world.pool, failed.taskId, { hard_end_at: 'now()' })
    await world.attempts.failTask(failed.taskId, failure)
    expect(await countOpenAttempts(world.pool, failed.taskId)).toBe(0)

    const settled = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, settled.taskId)
    await loseWorker(world.pool, settled.taskId)
    await world.attempts.beginAttempt({ taskId: settled.taskId, checked: 1 })
    await letBackoffPass(world.pool, settled.taskId)
    await openAttempt(world.attempts, settled.taskId)
    await endLease(world.pool, settled.taskId)
    await world.attempts.settleTask({ meta: testMeta(settled.taskId, 1), answerId })
    expect(await countOpenAttempts(world.pool, settled.taskId)).toBe(0)
  })

  it('counts every lifetime from one moment', async () => {
    const settled = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, settled.taskId)
    await world.attempts.settleTask({ meta: testMeta(settled.taskId), answerId })
    const failed = await insertTask(world.pool)
    await world.attempts.failTask(failed.taskId, failure)
    const { rows } = await world.pool.query(
      `select expires_at = completed_at + interval '1 day' as expires,
         purge_at = completed_at + interval '8 days' as purges
       from task where task_id = any($1) order by status`,
      [[settled.taskId, failed.taskId]],
    )
    expect(rows).toEqual([
      { expires: null, purges: true },
      { expires: true, purges: true },
    ])
  })

  it.each([
    ['for their retention', 'asked', 3_600, 3_600, true],
    ['not at all when its client has left', 'client_left', 3_600, 0, false],
    ['no longer than its record', 'asked', 9_000_000, 691_200, true],
  ] as const)('keeps prompt and inputs of a failed task %s [life-5]', async (...row) => {
    const [, reason, inputRetentionSeconds, keptSeconds, hasRequest] = row
    const { pool } = world
    const { taskId } = await insertTask(pool)
    await pool.query(
      `insert into upload (upload_id, kind, task_id, bytes, sweep_after)
       values ($1, 'input', $2, 7, 'infinity')`,
      [`in-${taskId}`, taskId],
    )
    const lifetimes = { retentionSeconds: 86_400, tombstoneSeconds: 604_800, inputRetentionSeconds }
    const deps = { pool, announceEnd: () => {}, ...lifetimes }
    expect(await cancelTask(deps, taskId, reason)).toBe('cancelled')
    const { rows } = await pool.query(
      `select extract(epoch from u.sweep_after - t.completed_at)::int as "keptSeconds",
         t.request is not null as "hasRequest",
         t.retry_until = u.sweep_after as "retryable", t.retry_bytes - octet_length(request) as "inputBytes"
       from upload u join task t using (task_id) where task_id = $1`,
      [taskId],
    )
    const kept = hasRequest
      ? { retryable: true, inputBytes: 7 }
      : { retryable: null, inputBytes: null }
    expect(rows).toEqual([{ keptSeconds, hasRequest, ...kept }])
  })

  it('moves no credits for a free task', async () => {
    const { pool } = world
    const { taskId, accountId } = await insertTask(pool, { credits: 0 })
    const before = await balanceOf(pool, accountId)
    const { answerId } = await openAttempt(world.attempts, taskId)
    expect(await world.attempts.settleTask({ meta: testMeta(taskId), answerId })).toBe(true)
    expect(await entriesOf(pool, taskId)).toEqual([
      { kind: 'hold', credits: 0 },
      { kind: 'settle', credits: 0 },
    ])
    expect(await balanceOf(pool, accountId)).toEqual(before)
  })

  it('announces each end once, and only after it is committed', async () => {
    const { pool } = world
    const announced: { taskId: string; statuses: Promise<unknown> }[] = []
    const announcing = await createTestAttempts(pool, undefined, (taskId) => {
      const statuses = pool.query('select status from task where task_id = $1', [taskId])
      announced.push({ taskId, statuses: statuses.then(({ rows }) => rows) })
    })
    const [one, two, three] = [
      await insertTask(pool),
      await insertTask(pool),
      await insertTask(pool),
    ]
    const { answerId } = await openAttempt(announcing, one.taskId)
    for (let time = 0; time < 2; time += 1) {
      await announcing.settleTask({ meta: testMeta(one.taskId), answerId })
      await announcing.failTask(two.taskId, failure)
      await announcing.cancelTask(three.taskId, 'asked')
    }
    expect(announced.map(({ taskId }) => taskId)).toEqual([one.taskId, two.taskId, three.taskId])
    const statuses = await Promise.all(announced.map((each) => each.statuses))
    expect(statuses).toEqual([
      [{ status: 'succeeded' }],
      [{ status: 'failed' }],
      [{ status: 'failed' }],
    ])
  })
})

it('submits, ends and deposits that wait for the balance add to what was changed meanwhile', async () => {
  const { attempts } = world
  const caller = await createTestCaller(world.pool, 100)
  const { accept } = createTestAccept(world.pool)
  const submit = async () => accepted(await accept({ caller, request: generateRequest() })).taskId
  const [ending, failing] = [await submit(), await submit()]
  const { answerId, accountId } = await openAttempt(attempts, ending)

  const holder = await world.pool.connect()
  onTestFinished(() => holder.release(true))
  await holder.query('begin')
  await holder.query('update balance set available = available - 1 where account_id = $1', [
    caller.accountId,
  ])
  const failure = { code: 'upstream_error', cause: 'refused', workPossible: false } as const
  const waiting = Promise.all([
    submit(),
    attempts.settleTask({ meta: testMeta(ending), answerId, accountId }),
    attempts.failTask(failing, failure),
    topUp(world.pool, caller.name, 5),
  ])
  await untilLockAwaited(world.pool, 4)
  await holder.query('commit')
  await waiting
  expect(await balanceOf(world.pool, caller.accountId)).toEqual({
    available: 100 - 1 - 10 - 10 + 5,
    held: 10,
    spent: 10,
  })
})
