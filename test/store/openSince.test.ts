import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import { moveOpenSince } from '../../src/store/channels/openSince.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
let attempts: AttemptStore
beforeAll(async () => {
  database = await createTestDatabase()
  attempts = await createTestAttempts(database.pool, [testChannel({ concurrencyMax: 1 })])
  return () => database.drop()
})
beforeEach(() =>
  database.pool.query(
    `delete from attempt; delete from place_queue; update channel set open_since = '-infinity'`,
  ),
)

/** Opens a call that began this long ago. */
async function callSince(age: string): Promise<void> {
  const { taskId } = await insertTask(database.pool)
  await openAttempt(attempts, taskId)
  await database.pool.query(
    `update attempt set opened_at = now() - $2::interval where task_id = $1`,
    [taskId, age],
  )
}

/** Seconds from the bound to now. */
async function ageOfBound(): Promise<number | undefined> {
  const { rows } = await database.pool.query<{ age: number }>(
    `select extract(epoch from now() - open_since)::float8 as age from channel`,
  )
  return rows[0]?.age
}

async function begin(): Promise<string> {
  const { taskId } = await insertTask(database.pool)
  const begun = await attempts.beginAttempt({ taskId })
  return begun.kind === 'wait' ? begun.reason : begun.kind
}

describe('the time from which the gate counts open attempts', () => {
  it('follows the oldest open attempt, which keeps its place', async () => {
    await callSince('200 seconds')
    await moveOpenSince(database.pool)
    expect(await ageOfBound()).toBeCloseTo(210, -1)
    expect(await begin()).toBe('channel_full')
  })

  it('is ten seconds ago when no attempt is open', async () => {
    await moveOpenSince(database.pool)
    expect(await ageOfBound()).toBeCloseTo(10, 0)
    expect(await begin()).toBe('opened')
    expect(await begin()).toBe('channel_full')
  })

  it('is computed from all attempts after the clock was set back', async () => {
    await callSince('100 seconds')
    await database.pool.query(`update channel set open_since = now() + interval '1 hour'`)
    await moveOpenSince(database.pool)
    expect(await begin()).toBe('channel_full')
  })
})
