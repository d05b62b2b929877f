import { beforeAll, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
let attempts: AttemptStore
beforeAll(async () => {
  database = await createTestDatabase()
  attempts = await createTestAttempts(database.pool, [testChannel()])
  return () => database.drop()
})

const tasks = (count: number) =>
  Promise.all(Array.from({ length: count }, async () => (await insertTask(database.pool)).taskId))

/** Makes the open calls, and the window, older than they are. */
async function letPass(seconds: number): Promise<void> {
  await database.pool.query(
    `update attempt set opened_at = opened_at - $1 * interval '1 second' where closed_at is null`,
    [seconds],
  )
  await database.pool.query(
    `update cooldown set until_at = until_at - $1 * interval '1 second',
       window_at = window_at - $1 * interval '1 second', slot_at = slot_at - $1 * interval '1 second'`,
    [seconds],
  )
}

/** `opened`, or the reason to wait. */
async function ask(taskId = ''): Promise<string> {
  const begun = await attempts.beginAttempt({ taskId })
  return begun.kind === 'wait' ? begun.reason : begun.kind
}

const refuse = (taskId = '') =>
  attempts.closeAttempt({ taskId, n: 1, class: 'refused', evidence: { reason: 'not_sent' } })

describe('after calls to a host that does not answer', () => {
  it('each cooldown ends with one call, until its connection has timed out', async () => {
    const [first, second, probe, another] = await tasks(4)
    expect([await ask(first), await ask(second)]).toEqual(['opened', 'opened'])
    await letPass(10)
    await refuse(first)
    await refuse(second)
    await letPass(5)
    expect([await ask(probe), await ask(another)]).toEqual(['opened', 'slow_start'])
    // Other upstreams would have refused by now.
    for (let seconds = 2; seconds <= 10; seconds += 2) {
      await letPass(2)
      expect(await ask(another)).toBe('slow_start')
    }
    await refuse(probe)
    expect(await ask(another)).toBe('cooldown')
    await letPass(60)
    expect(await ask(another)).toBe('opened')
  })
})

describe('a Retry-After', () => {
  it.each([
    ['refused', 'rate_limited', 'cooldown'],
    // Work may have been done, or the channel is skipped: other tasks have no reason to wait.
    ['unknown', 'server_error', 'opened'],
    ['exhausted', 'quota_exhausted', 'opened'],
  ] as const)(
    'makes other tasks wait after a refusal only: %s',
    async (outcome, reason, expected) => {
      await database.pool.query('delete from cooldown')
      const [first, second] = await tasks(2)
      expect(await ask(first)).toBe('opened')
      const close = { taskId: first ?? '', n: 1, class: outcome, evidence: { reason } }
      await attempts.closeAttempt({ ...close, retryAfterMs: 7_000 })
      expect(await ask(second)).toBe(expected)
      await letPass(8)
      expect(await ask((await tasks(1))[0])).toBe('opened')
    },
  )
})

it('ends a refused offered task without a wait for the lock of its channel or its own', async () => {
  await database.pool.query('delete from cooldown')
  const [first] = await tasks(1)
  const { taskId } = await insertTask(database.pool, { route: 'images.generations' })
  expect(await ask(first)).toBe('opened')
  const evidence = { reason: 'rate_limited' } as const
  const close = { taskId: first ?? '', n: 1, class: 'refused', evidence } as const
  await attempts.closeAttempt({ ...close, retryAfterMs: 30_000 })
  const client = await database.pool.connect()
  await client.query('begin')
  await client.query('select from channel for update')
  await client.query('select from task where task_id = $1 for update', [taskId])
  try {
    expect(await attempts.beginAttempt({ taskId, via: 'offer' })).toMatchObject({
      kind: 'end',
      failure: { code: 'rate_limit_exceeded' },
    })
  } finally {
    await client.query('rollback')
    client.release()
  }
})
