import { describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import type { AnswerMeta } from '../../src/domain/upstream/answerMeta.ts'
import { cancelTask } from '../../src/store/tasks/cancelTask.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf, entriesOf } from '../support/database/money.ts'
import { endLease, openAttempt, setTask } from '../support/database/reconcileWorld.ts'
import { createTestAttempts, loseWorker, outcomesOf } from '../support/database/testAttempts.ts'

const world = useAttemptWorld()

const failure: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: true }

function metaOf(taskId: string, attempt = 1): AnswerMeta {
  const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab', width: 1, height: 1 } as const
  return { version: 1, taskId, attempt, image, native: { response: {}, imagePath: [] } }
}

/** Opens the next attempt and returns its answer id. */
async function opened(taskId: string): Promise<string> {
  return (await openAttempt(world.attempts, taskId)).answerId
}

const creditsOf = (accountId: string) => balanceOf(world.pool, accountId)

async function ends(taskId: string): Promise<string[]> {
  const { rows } = await world.pool.query<{ kind: string }>(
    `select kind from ledger where task_id = $1 and kind <> 'hold'`,
    [taskId],
  )
  return rows.map(({ kind }) => kind)
}

async function openAttempts(taskId: string): Promise<number | null> {
  const { rowCount } = await world.pool.query(
    'select from attempt where task_id = $1 and closed_at is null',
    [taskId],
  )
  return rowCount
}

async function letBackoffPass(taskId: string): Promise<void> {
  await world.pool.query(
    `update attempt set closed_at = closed_at - interval '1 minute' where task_id = $1`,
    [taskId],
  )
}

describe('settleTask, failTask and cancelTask', () => {
  it('charges a task once when its answer is settled several times at once', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const answerId = await opened(taskId)
    const input = { meta: metaOf(taskId), answerId }
    const settled = await Promise.all([1, 2, 3, 4].map(() => world.attempts.settleTask(input)))
    expect(settled.filter(Boolean)).toHaveLength(1)
    expect(await ends(taskId)).toEqual(['settle'])
    expect(await creditsOf(accountId)).toEqual({ available: 990, held: 0, spent: 10 })
  })

  it('settles or releases, but not both, when both come at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { taskId } = await insertTask(world.pool)
      const answerId = await opened(taskId)
      await loseWorker(world.pool, taskId)
      const both = await Promise.all([
        world.attempts.settleTask({ meta: metaOf(taskId), answerId }),
        world.attempts.failTask(taskId, failure).then((result) => result === 'failed'),
      ])
      expect(both.filter(Boolean)).toHaveLength(1)
      expect(await ends(taskId)).toHaveLength(1)
    }
  })

  it('neither publishes nor charges a success that comes after the release', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const answerId = await opened(taskId)
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.failTask(taskId, failure)).toBe('failed')
    expect(await world.attempts.settleTask({ meta: metaOf(taskId), answerId })).toBe(false)
    expect(await ends(taskId)).toEqual(['release'])
    expect(await creditsOf(accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
    const { rows } = await world.pool.query(
      'select status, answer_id from task where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ status: 'failed', answer_id: null }])
  })

  it('fails no task while the worker of its open call is present', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const answerId = await opened(taskId)
    expect(await world.attempts.failTask(taskId, failure)).toBe('call_under_way')
    expect(await creditsOf(accountId)).toMatchObject({ held: 10 })
    expect(await world.attempts.settleTask({ meta: metaOf(taskId), answerId })).toBe(true)
    expect(await world.attempts.failTask(taskId, failure)).toBe('succeeded')
  })

  it('fails a task at its hard end, although the worker of its call is present', async () => {
    const { taskId } = await insertTask(world.pool)
    await opened(taskId)
    await setTask(world.pool, taskId, { hard_end_at: 'now()' })
    expect(await world.attempts.failTask(taskId, failure)).toBe('failed')
    expect(await world.attempts.failTask(taskId, failure)).toBe('over')
  })

  it('settles the answer of an attempt that counted as lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const answerId = await opened(taskId)
    await world.attempts.beginAttempt({ taskId, checked: 1 })
    expect(await world.attempts.answerIdsOf(taskId)).toEqual([answerId])
    expect(await world.attempts.settleTask({ meta: metaOf(taskId), answerId })).toBe(true)
    expect(await ends(taskId)).toEqual(['settle'])
  })

  it('closes the attempt of a worker that finishes after the task has ended', async () => {
    const failed = await insertTask(world.pool)
    const failedAnswer = await opened(failed.taskId)
    await setTask(world.pool, failed.taskId, { hard_end_at: 'now()' })
    await world.attempts.failTask(failed.taskId, failure)
    expect(await openAttempts(failed.taskId)).toBe(1)
    await world.attempts.settleTask({ meta: metaOf(failed.taskId), answerId: failedAnswer })
    expect(await openAttempts(failed.taskId)).toBe(0)

    const settled = await insertTask(world.pool)
    const firstAnswer = await opened(settled.taskId)
    await loseWorker(world.pool, settled.taskId)
    await world.attempts.beginAttempt({ taskId: settled.taskId, checked: 1 })
    await letBackoffPass(settled.taskId)
    const secondAnswer = await opened(settled.taskId)
    await world.attempts.settleTask({ meta: metaOf(settled.taskId, 1), answerId: firstAnswer })
    expect(await openAttempts(settled.taskId)).toBe(1)
    await world.attempts.settleTask({ meta: metaOf(settled.taskId, 2), answerId: secondAnswer })
    expect(await openAttempts(settled.taskId)).toBe(0)
  })

  it('closes the open attempt of a lost worker when it ends the task', async () => {
    const { taskId } = await insertTask(world.pool)
    await opened(taskId)
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.failTask(taskId, failure)).toBe('failed')
    expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
  })

  it('closes attempts as lost when their lease has run out', async () => {
    const failed = await insertTask(world.pool)
    await opened(failed.taskId)
    await endLease(world.pool, failed.taskId)
    await setTask(world.pool, failed.taskId, { hard_end_at: 'now()' })
    await world.attempts.failTask(failed.taskId, failure)
    expect(await openAttempts(failed.taskId)).toBe(0)

    const settled = await insertTask(world.pool)
    const answerId = await opened(settled.taskId)
    await loseWorker(world.pool, settled.taskId)
    await world.attempts.beginAttempt({ taskId: settled.taskId, checked: 1 })
    await letBackoffPass(settled.taskId)
    await opened(settled.taskId)
    await endLease(world.pool, settled.taskId)
    await world.attempts.settleTask({ meta: metaOf(settled.taskId, 1), answerId })
    expect(await openAttempts(settled.taskId)).toBe(0)
  })

  it('counts every lifetime from one moment', async () => {
    const settled = await insertTask(world.pool)
    const answerId = await opened(settled.taskId)
    await world.attempts.settleTask({ meta: metaOf(settled.taskId), answerId })
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

  it('drops prompt and inputs on success and keeps the answer for its retention and a grace for downloads', async () => {
    const { taskId } = await insertTask(world.pool)
    await world.pool.query(
      `insert into upload (upload_id, kind, task_id, sweep_after) values ($1, 'input', $2, 'infinity')`,
      [`in-${taskId}`, taskId],
    )
    const answerId = await opened(taskId)
    await world.attempts.settleTask({ meta: metaOf(taskId), answerId })
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

  it.each([
    ['for their retention', 'asked', 3_600, 3_600, true],
    ['not at all when its client has left', 'client_left', 3_600, 0, false],
    ['no longer than its record', 'asked', 9_000_000, 691_200, true],
  ] as const)('keeps prompt and inputs of a failed task %s', async (...row) => {
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

  it('cancels a task while no call is under way, once', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    expect(await world.attempts.cancelTask(taskId, 'asked')).toBe('cancelled')
    expect(await world.attempts.cancelTask(taskId, 'asked')).toBe('cancelled')
    expect(await world.attempts.cancelTask(taskId, 'client_left')).toBe('cancelled')
    expect(await ends(taskId)).toEqual(['release'])
    expect(await creditsOf(accountId)).toEqual({ available: 1000, held: 0, spent: 0 })
  })

  it.each([
    ['open', 'call_under_way'],
    ['unknown', 'work_possible'],
  ] as const)('is no cancellation when an attempt is %s', async (stage, result) => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { n } = await openAttempt(world.attempts, taskId)
    if (stage === 'unknown') {
      await world.attempts.closeAttempt({
        taskId,
        n,
        class: 'unknown',
        evidence: { reason: 'timeout' },
      })
    }
    for (const reason of ['asked', 'client_left'] as const) {
      expect(await world.attempts.cancelTask(taskId, reason)).toBe(result)
    }
    expect(await creditsOf(accountId)).toMatchObject({ held: 10 })
  })

  it('is no cancellation when the task has ended otherwise, or does not exist', async () => {
    const [image, none] = [await insertTask(world.pool), await insertTask(world.pool)]
    const answerId = await opened(image.taskId)
    await world.attempts.settleTask({ meta: metaOf(image.taskId), answerId })
    await world.attempts.failTask(none.taskId, failure)
    expect(await world.attempts.cancelTask(image.taskId, 'asked')).toBe('succeeded')
    expect(await world.attempts.cancelTask(none.taskId, 'asked')).toBe('failed')
    const absent = `task_${'0'.repeat(32)}`
    expect(await world.attempts.cancelTask(absent, 'asked')).toBe('missing')
  })

  it.each([
    ['asked', 'cancelled', 1],
    ['client_left', 'client_left', 0],
  ] as const)('with the reason %s records the cause %s and leaves %i keys', async (...row) => {
    const [reason, cause, keys] = row
    const { pool } = world
    const { taskId, accountId } = await insertTask(pool, { route: 'images.generations' })
    await pool.query(`insert into idempotency_key values ($1, '\\x01', $2)`, [accountId, taskId])
    await world.attempts.cancelTask(taskId, reason)
    const { rows } = await pool.query(
      `select failure_code as code, failure_cause as cause,
         (select count(*)::int from idempotency_key where task_id = $1) as keys
       from task where task_id = $1`,
      [taskId],
    )
    expect(rows).toEqual([{ code: 'cancelled', cause, keys }])
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

  it('moves no credits for a free task', async () => {
    const { pool } = world
    const { taskId, accountId } = await insertTask(pool, { credits: 0 })
    const before = await balanceOf(pool, accountId)
    const answerId = await opened(taskId)
    expect(await world.attempts.settleTask({ meta: metaOf(taskId), answerId })).toBe(true)
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
      await announcing.settleTask({ meta: metaOf(one.taskId), answerId })
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

  it('notifies nobody inside the transaction', async () => {
    const { pool } = world
    const client = await pool.connect()
    const heard: (string | undefined)[] = []
    client.on('notification', ({ payload }) => heard.push(payload))
    await client.query('listen task_end')
    const [one, two, three] = [
      await insertTask(pool),
      await insertTask(pool),
      await insertTask(pool),
    ]
    await world.attempts.settleTask({
      meta: metaOf(one.taskId),
      answerId: await opened(one.taskId),
    })
    await world.attempts.failTask(two.taskId, failure)
    await world.attempts.cancelTask(three.taskId, 'asked')
    await pool.query(`select pg_notify('task_end', 'last')`)
    await expect.poll(() => heard).toEqual(['last'])
    client.release(true)
  })
})
