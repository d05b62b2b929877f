import { beforeEach, describe, expect, it } from 'vitest'
import type { AttemptStore, OpenedAttempt } from '../../src/domain/ports/attemptStore.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'

const world = useAttemptWorld()

async function open(store: AttemptStore, taskId: string): Promise<OpenedAttempt> {
  const begun = await store.beginAttempt({ taskId })
  if (begun.kind !== 'opened') throw new Error(`not opened: ${begun.kind}`)
  return begun.attempt
}

describe('updateChannelAfterCall', () => {
  it('opens no call during a cooldown, and one probe after it', async () => {
    const store = await createTestAttempts(world.pool, [testChannel({ name: 'cooling' })])
    const tasks = await Promise.all(Array.from({ length: 4 }, () => insertTask(world.pool)))
    const [first, ...others] = tasks.map(({ taskId }) => taskId)
    if (first === undefined) throw new Error('no task')
    await open(store, first)
    const evidence = { reason: 'rate_limited', httpStatus: 429 } as const
    const refusedAtMs = performance.now()
    await store.closeAttempt({
      taskId: first,
      n: 1,
      class: 'refused',
      evidence,
      retryAfterMs: 3_000,
    })
    for (const taskId of others) {
      const wait = await store.beginAttempt({ taskId })
      expect(wait).toMatchObject({ kind: 'wait', reason: 'cooldown', channel: 'cooling' })
      const passedMs = performance.now() - refusedAtMs
      expect('delayMs' in wait ? wait.delayMs : 0).toBeGreaterThan(2_990 - passedMs)
    }
    await world.pool.query(
      `update cooldown set until_at = now() - interval '1 ms' where channel = 'cooling'`,
    )
    const begun = await Promise.all(others.map((taskId) => store.beginAttempt({ taskId })))
    expect(begun.filter(({ kind }) => kind === 'opened')).toHaveLength(1)
  })

  it.each([
    ['refused', 'rate_limited', 'cooldown'],
    // Work may have been done, or the channel is skipped: other tasks have no reason to wait.
    ['unknown', 'server_error', 'opened'],
    ['exhausted', 'quota_exhausted', 'opened'],
  ] as const)(
    'makes other tasks wait for a Retry-After only after a refusal: %s',
    async (...row) => {
      const [outcome, reason, expected] = row
      const store = await createTestAttempts(world.pool, [testChannel({ name: outcome })])
      const [first, second] = [await insertTask(world.pool), await insertTask(world.pool)]
      await open(store, first.taskId)
      const close = { taskId: first.taskId, n: 1, class: outcome, evidence: { reason } }
      await store.closeAttempt({ ...close, retryAfterMs: 7_000 })
      const begun = await store.beginAttempt({ taskId: second.taskId })
      expect(begun.kind === 'wait' ? begun.reason : begun.kind).toBe(expected)
    },
  )

  it('starts no cooldown when inputs could not be read from the blob store', async () => {
    const store = await createTestAttempts(world.pool, [testChannel({ name: 'blameless' })])
    const { taskId } = await insertTask(world.pool)
    await open(store, taskId)
    const evidence = { reason: 'inputs_unreadable' } as const
    await store.closeAttempt({ taskId, n: 1, class: 'refused', evidence })
    expect(await store.beginAttempt({ taskId })).toMatchObject({ kind: 'wait', reason: 'backoff' })
    await open(store, (await insertTask(world.pool)).taskId)
    const { rowCount } = await world.pool.query(`select from cooldown where channel = 'blameless'`)
    expect(rowCount).toBe(0)
  })

  it.each([
    ['credential', 401],
    ['model_not_found', 404],
  ] as const)('pauses a channel when two tasks in a row fail by %s', async (...fault) => {
    const [reason, httpStatus] = fault
    const name = `faulty-${reason}`
    const store = await createTestAttempts(world.pool, [testChannel({ name })])
    await insertTask(world.pool, { accountId: 'acct_other' })
    const evidence = { reason, httpStatus }
    for (const expected of [null, `upstream refuses our access: ${reason} (HTTP ${httpStatus})`]) {
      const { taskId } = await insertTask(world.pool)
      await open(store, taskId)
      await store.closeAttempt({ taskId, n: 1, class: 'operator_fault', evidence })
      const { rows } = await world.pool.query('select pause_reason from channel where name = $1', [
        name,
      ])
      expect(rows).toEqual([{ pause_reason: expected }])
    }
    const { taskId } = await insertTask(world.pool)
    expect(await store.beginAttempt({ taskId })).toMatchObject({ reason: 'channel_paused' })
  })

  describe('pauses for faults that a request can provoke', () => {
    const forbidden = { reason: 'forbidden', httpStatus: 403 } as const

    beforeEach(async () => {
      await world.pool.query(`update task set created_at = created_at - interval '2 days'`)
    })

    async function fail(store: AttemptStore, accountId: string): Promise<void> {
      const { taskId } = await insertTask(world.pool, { accountId })
      await open(store, taskId)
      const fault = { class: 'operator_fault', evidence: forbidden } as const
      await store.closeAttempt({ taskId, n: 1, ...fault })
    }

    async function isPaused(channel: string): Promise<boolean> {
      const { rowCount } = await world.pool.query(
        'select from channel where name = $1 and paused_at is not null',
        [channel],
      )
      return rowCount === 1
    }

    it('not for any number of tasks of one account while another account uses the family', async () => {
      const store = await createTestAttempts(world.pool, [testChannel({ name: 'shared' })])
      await insertTask(world.pool, { accountId: 'acct_honest' })
      for (let count = 0; count < 5; count += 1) await fail(store, 'acct_hostile')
      expect(await isPaused('shared')).toBe(false)
      await fail(store, 'acct_honest')
      expect(await isPaused('shared')).toBe(true)
    })

    it('for two tasks of the only account that used the family in the last day', async () => {
      const store = await createTestAttempts(world.pool, [testChannel({ name: 'alone' })])
      await fail(store, 'acct_only')
      expect(await isPaused('alone')).toBe(false)
      await fail(store, 'acct_only')
      expect(await isPaused('alone')).toBe(true)
    })
  })
})
