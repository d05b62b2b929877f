import { beforeEach, describe, expect, it } from 'vitest'
import { moveOpenSince } from '../../src/store/channels/openSince.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'
import { testChannel } from '../support/database/testAttempts.ts'

const world = useAttemptWorld([testChannel({ concurrencyMax: 1 })])
beforeEach(() =>
  world.pool.query(
    `delete from attempt; delete from place_queue; update channel set open_since = '-infinity'`,
  ),
)

/** Opens a call that began this long ago. */
async function callSince(age: string): Promise<void> {
  const { taskId } = await insertTask(world.pool)
  await openAttempt(world.attempts, taskId)
  await world.pool.query(`update attempt set opened_at = now() - $2::interval where task_id = $1`, [
    taskId,
    age,
  ])
}

/** Seconds from the bound to now. */
async function ageOfBound(): Promise<number | undefined> {
  const { rows } = await world.pool.query<{ age: number }>(
    `select extract(epoch from now() - open_since)::float8 as age from channel`,
  )
  return rows[0]?.age
}

async function begin(): Promise<string> {
  const { taskId } = await insertTask(world.pool)
  const begun = await world.attempts.beginAttempt({ taskId })
  return begun.kind === 'wait' ? begun.reason : begun.kind
}

describe('the time from which the gate counts open attempts', () => {
  it('follows the oldest open attempt, which keeps its place', async () => {
    await callSince('200 seconds')
    await moveOpenSince(world.pool)
    expect(await ageOfBound()).toBeCloseTo(210, -1)
    expect(await begin()).toBe('channel_full')
  })

  it('is ten seconds ago when no attempt is open', async () => {
    await moveOpenSince(world.pool)
    const age = await ageOfBound()
    expect(age).toBeGreaterThanOrEqual(10)
    expect(age).toBeLessThan(15)
    expect(await begin()).toBe('opened')
    expect(await begin()).toBe('channel_full')
  })

  it('is computed from all attempts after the clock was set back', async () => {
    await callSince('100 seconds')
    await world.pool.query(`update channel set open_since = now() + interval '1 hour'`)
    await moveOpenSince(world.pool)
    expect(await begin()).toBe('channel_full')
  })
})
