import { expect, it, onTestFinished } from 'vitest'
import { readAccount, topUp } from '../../src/store/accounts/accounts.ts'
import { balanceOf } from '../support/database/money.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { createTestAttempts, testMeta } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { openServicePool } from '../support/database/servicePool.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const database = useTestDatabase()

it('submits and ends that wait for the balance find it when it has got a new generation meanwhile', async () => {
  const attempts = await createTestAttempts(database.pool)
  const caller = await createTestCaller(database.pool, 100)
  const { accept } = createTestAccept(database.pool)
  const submit = async () => accepted(await accept({ caller, request: generateRequest() })).taskId
  const [ending, failing] = [await submit(), await submit()]
  const { answerId, accountId } = await openAttempt(attempts, ending)

  const holder = await database.pool.connect()
  onTestFinished(() => holder.release(true))
  await holder.query('begin')
  await holder.query(
    'update balance set changes = changes + 200, available = available - 1 where account_id = $1',
    [caller.accountId],
  )
  const failure = { code: 'upstream_error', cause: 'refused', workPossible: false } as const
  const waiting = Promise.all([
    submit(),
    attempts.settleTask({ meta: testMeta(ending), answerId, accountId }),
    attempts.failTask(failing, failure),
    topUp(database.pool, caller.name, 5),
  ])
  await untilLockAwaited(database.pool, 4)
  await holder.query('commit')
  await waiting
  expect(await balanceOf(database.pool, caller.accountId)).toEqual({
    available: 100 - 1 - 10 - 10 + 5,
    held: 10,
    spent: 10,
  })
})

it('the balance of a busy account is found among few versions while a snapshot is open', async () => {
  const pool = openServicePool(database, 4)
  const attempts = await createTestAttempts(pool)
  const caller = await createTestCaller(pool, 1_000_000)
  const { accept } = createTestAccept(pool)
  const useOnce = async () => {
    const { taskId } = accepted(await accept({ caller, request: generateRequest() }))
    const { answerId, accountId } = await openAttempt(attempts, taskId)
    await attempts.settleTask({ meta: testMeta(taskId), answerId, accountId })
    await readAccount(pool, caller.accountId)
  }
  /** Counts the blocks of the table and its index that one use reads. */
  const blocksRead = async () => {
    const read = async () => {
      for (const client of await Promise.all([1, 2, 3, 4].map(() => pool.connect()))) {
        await client.query('select pg_stat_force_next_flush()')
        client.release()
      }
      const { rows } = await database.pool.query<{ blocks: number }>(
        `select heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read as blocks
         from pg_statio_user_tables where relname = 'balance'`,
      )
      return rows[0]?.blocks ?? 0
    }
    const before = await read()
    await useOnce()
    return (await read()) - before
  }
  // The autovacuum reads the whole table, and its blocks would be counted too.
  await database.pool.query('alter table balance set (autovacuum_enabled = off)')
  await useOnce()
  const quiet = await blocksRead()

  const snapshot = await database.pool.connect()
  onTestFinished(() => snapshot.release(true))
  await snapshot.query('begin isolation level repeatable read')
  await snapshot.query('select from balance')
  for (let n = 0; n < 3_000; n += 1) await topUp(pool, caller.name, 1)
  expect(await blocksRead()).toBeLessThan(3 * quiet)
  expect((await readAccount(pool, caller.accountId)).available).toBe(1_003_000 - 3 * 10)
})
