import { expect, it } from 'vitest'
import { markStarted } from '../../src/store/reconcile/checkSchedule.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'
import { openServicePool } from '../support/database/servicePool.ts'
import { createTestAttempts, testChannel, testMeta } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

it('a mark, a first call, a question in line, a success and a failure read tasks and attempts by their ids, also with plans of empty tables', async () => {
  const pool = openServicePool(database, 1)
  const attempts = await createTestAttempts(pool, [testChannel({ concurrencyMax: 1 })])
  /** Counts the uses of each index that is not the primary key. */
  const scans = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await database.pool.query<{ index: string; scans: number }>(
      `select indexrelname as index, idx_scan as scans from pg_stat_user_indexes
       where relname in ('task', 'attempt') and indexrelname not like '%pkey' and idx_scan > 0
       order by index`,
    )
    return rows
  }
  const { taskId } = await insertTask(pool)
  const failing = await insertTask(pool)
  await markStarted(pool, [failing.taskId])
  const waiting = await insertTask(pool)
  const { answerId, accountId } = await openAttempt(attempts, taskId)
  for (const question of ['first', 'in_line'] as const) {
    const asked = { taskId: waiting.taskId, question }
    expect(await attempts.beginAttempt(asked)).toMatchObject({ reason: 'channel_full' })
  }
  expect(await attempts.settleTask({ meta: testMeta(taskId), answerId, accountId })).toBe(true)
  const failure = { code: 'upstream_error', cause: 'refused', workPossible: false } as const
  expect(await attempts.failTask(failing.taskId, failure)).toBe('failed')
  // The gate has counted the open calls of the channel: for the first call, twice for the first question of the task
  // that waits (the fast path and the full gate), and for its question in line.
  expect(await scans()).toEqual([{ index: 'attempt_open', scans: 4 }])
  const { rows } = await database.pool.query(
    `select relname as table from pg_stat_user_tables where relname in ('task', 'attempt') and seq_scan > 0`,
  )
  expect(rows).toEqual([])
})
