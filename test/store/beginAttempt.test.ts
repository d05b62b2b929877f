import { describe, expect, it } from 'vitest'
import type { AttemptStore, OpenedAttempt } from '../../src/domain/ports/attemptStore.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, loseWorker, testChannel } from '../support/database/testAttempts.ts'

const world = useAttemptWorld()

async function open(store: AttemptStore, taskId: string): Promise<OpenedAttempt> {
  const begun = await store.beginAttempt({ taskId })
  if (begun.kind !== 'opened') throw new Error(`not opened: ${begun.kind}`)
  return begun.attempt
}

const unknown = { class: 'unknown', evidence: { reason: 'server_error', httpStatus: 500 } } as const

describe('beginAttempt', () => {
  it('opens nothing for a request that the caller has no memory for, and says how much it needs', async () => {
    const { taskId, accountId } = await insertTask(world.pool, { prompt: 'p'.repeat(500_000) })
    const begun = await world.attempts.beginAttempt({ taskId, requestBytesMax: 400_000 })
    if (begun.kind !== 'needs_room') throw new Error(`not without room: ${begun.kind}`)
    expect(begun.accountId).toBe(accountId)
    expect(begun.bytes).toBeGreaterThan(500_000)
    const { rowCount } = await world.pool.query('select from attempt where task_id = $1', [taskId])
    expect(rowCount).toBe(0)
    const again = await world.attempts.beginAttempt({ taskId, requestBytesMax: begun.bytes })
    expect(again).toMatchObject({ kind: 'opened', attempt: { n: 1 } })
  })

  it('opens the first attempt and sets the task processing', async () => {
    const { taskId } = await insertTask(world.pool)
    const attempt = await open(world.attempts, taskId)
    expect(attempt).toMatchObject({ n: 1, upstreamKey: `${taskId}-1`, timeoutMs: 5_000 })
    const { rows } = await world.pool.query('select status from task where task_id = $1', [taskId])
    expect(rows).toEqual([{ status: 'processing' }])
  })

  it('opens one attempt when two workers begin at once', async () => {
    const { taskId } = await insertTask(world.pool)
    const begun = await Promise.all([1, 2, 3].map(() => world.attempts.beginAttempt({ taskId })))
    expect(begun.map(({ kind }) => kind).toSorted()).toEqual(['opened', 'unchecked', 'unchecked'])
  })

  it('asks for the stored answer of an open attempt before it counts the attempt as lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const first = await open(world.attempts, taskId)
    const again = await world.attempts.beginAttempt({ taskId })
    expect(again).toEqual({ kind: 'unchecked', n: 1, answerId: first.answerId })
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.beginAttempt({ taskId, checked: 1 })).toMatchObject({
      kind: 'wait',
      reason: 'backoff',
    })
    const { rows } = await world.pool.query(
      'select class, reason from attempt where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ class: 'unknown', reason: 'worker_lost' }])
  })

  it('waits while the worker of an open call is present, and makes no second call', async () => {
    const { taskId } = await insertTask(world.pool)
    await open(world.attempts, taskId)
    const wait = { kind: 'wait', reason: 'call_under_way', channel: 'b-main', delayMs: 2_500 }
    expect(await world.attempts.beginAttempt({ taskId, checked: 1 })).toEqual(wait)
  })

  it('keeps the upstream key through unknown outcomes, and takes a new key after a refusal', async () => {
    const { taskId } = await insertTask(world.pool)
    const first = await open(world.attempts, taskId)
    await world.attempts.closeAttempt({ taskId, n: 1, ...unknown })
    await world.pool.query(`update attempt set closed_at = closed_at - interval '1 minute'`)
    const second = await open(world.attempts, taskId)
    expect(second).toMatchObject({ n: 2, upstreamKey: first.upstreamKey })
    const refused = { class: 'refused', evidence: { reason: 'rate_limited' } } as const
    await world.attempts.closeAttempt({ taskId, n: 2, ...refused, retryAfterMs: 0 })
    await world.pool.query('delete from cooldown')
    expect(await open(world.attempts, taskId)).toMatchObject({
      n: 3,
      upstreamKey: first.upstreamKey,
    })
    const other = await insertTask(world.pool)
    await open(world.attempts, other.taskId)
    await world.attempts.closeAttempt({ taskId: other.taskId, n: 1, ...refused, retryAfterMs: 0 })
    await world.pool.query('delete from cooldown')
    expect(await open(world.attempts, other.taskId)).toMatchObject({
      upstreamKey: `${other.taskId}-2`,
    })
  })

  it('opens nothing for a task that has ended or is unknown', async () => {
    const { taskId } = await insertTask(world.pool)
    expect(await world.attempts.cancelTask(taskId, 'asked')).toBe('cancelled')
    expect(await world.attempts.beginAttempt({ taskId })).toEqual({ kind: 'over' })
    const absent = 'task_00000000000000000000000000000000'
    expect(await world.attempts.beginAttempt({ taskId: absent })).toEqual({ kind: 'over' })
  })

  it('never opens more calls on a channel than its limit when many tasks begin at once', async () => {
    const narrow = testChannel({ name: 'narrow', concurrencyMax: 3 })
    const store = await createTestAttempts(world.pool, [narrow])
    const tasks = await Promise.all(Array.from({ length: 12 }, () => insertTask(world.pool)))
    const begun = await Promise.all(tasks.map(({ taskId }) => store.beginAttempt({ taskId })))
    const kinds = begun.map((result) => (result.kind === 'wait' ? result.reason : result.kind))
    expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(3)
    expect(kinds.filter((kind) => kind === 'channel_full')).toHaveLength(9)
  })
})
