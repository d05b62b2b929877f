import { beforeAll, describe, expect, it } from 'vitest'
import { NothingWrittenError } from '../../src/domain/nothingWrittenError.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { runStatement, withTransaction } from '../../src/store/connection/transaction.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.pool.query('create table box (name text primary key, content integer)')
  await database.pool.query(`insert into box values ('a', 0), ('b', 0)`)
  return () => database.close()
})

async function contentOf(name: string): Promise<number | undefined> {
  const { rows } = await database.pool.query<{ content: number }>(
    'select content from box where name = $1',
    [name],
  )
  return rows[0]?.content
}

describe('withTransaction', () => {
  it('repeats the work after a deadlock until both transactions commit', async () => {
    const both = ['a', 'b']
    let holding = 0
    const eachHoldsOne = Promise.withResolvers<void>()
    const add = (order: readonly string[]) =>
      withTransaction(database.pool, async (client) => {
        for (const name of order) {
          await client.query('update box set content = content + 1 where name = $1', [name])
          holding += 1
          if (holding === 2) eachHoldsOne.resolve()
          await eachHoldsOne.promise
        }
      })
    await Promise.all([add(both), add(both.toReversed())])
    expect([await contentOf('a'), await contentOf('b')]).toEqual([2, 2])
  })
})

describe('runStatement', () => {
  const put = { text: `update box set content = content + 1 where name = 'a'` }

  function openPool(databaseUrl: string, connectTimeoutMs = 5_000) {
    return createPool({
      databaseUrl,
      applicationName: 'darkroom-test',
      connectionsMax: 1,
      onConnectionError: () => {},
      connectTimeoutMs,
      statementTimeoutMs: 300,
    })
  }

  it.each([
    ['a statement timeout', '', '57014'],
    ['a lock timeout', `set lock_timeout = '100ms'`, '55P03'],
    ['a server that only reads', 'set default_transaction_read_only = on', '25006'],
  ])('says after %s that nothing was written', async (_what, setting, code) => {
    const pool = openPool(database.databaseUrl)
    const before = await contentOf('a')
    await pool.query(setting)
    await withTransaction(database.pool, async (client) => {
      await client.query(`select from box where name = 'a' for update`)
      const failed = runStatement(pool, put)
      await expect(failed).rejects.toThrow(NothingWrittenError)
      await expect(failed).rejects.toMatchObject({ cause: { code } })
    })
    expect(await contentOf('a')).toBe(before)
    await pool.end()
  })

  it('does not say so when the connection ends before the answer', async () => {
    const pool = openPool(database.databaseUrl)
    const failed = runStatement(pool, { text: 'select pg_terminate_backend(pg_backend_pid())' })
    await expect(failed).rejects.not.toThrow(NothingWrittenError)
    await pool.end()
  })
})
