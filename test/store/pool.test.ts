import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { PoolOptions } from '../../src/store/connection/pool.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

function openPool(given: Partial<PoolOptions> = {}) {
  const lost: Error[] = []
  const pool = createPool({
    databaseUrl: database.databaseUrl,
    applicationName: 'darkroom-test',
    connectionsMax: 2,
    onConnectionError: (error) => lost.push(error),
    connectTimeoutMs: 10_000,
    ...given,
  })
  return { pool, lost }
}

describe('createPool', () => {
  it('reads bigint as a number and refuses a value outside the safe range', async () => {
    const { pool } = openPool()
    const { rows } = await pool.query('select 9007199254740991::bigint as credits')
    expect(rows).toEqual([{ credits: Number.MAX_SAFE_INTEGER }])
    await expect(pool.query('select 9007199254740993::bigint')).rejects.toThrow(/safe range/)
    await pool.end()
  })

  it('survives when the server closes connections, idle and in a transaction', async () => {
    const { pool, lost } = openPool()
    const busy = await pool.connect()
    await busy.query('begin')
    await pool.query('select 1')
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'darkroom-test' and datname = current_database()`,
    )
    await expect.poll(() => lost.length).toBe(1)
    // The busy connection is closed at the same moment, while no statement is under way on it.
    await sleep(50)
    await expect(busy.query('select 1')).rejects.toThrow(/terminat|closed|not queryable/i)
    busy.release(true)
    expect((await pool.query('select 2 as two')).rows).toEqual([{ two: 2 }])
    await pool.end()
  })
})
