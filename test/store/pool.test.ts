import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { PoolOptions } from '../../src/store/connection/pool.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { limitedUrl } from '../support/database/limitedUrl.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { timed } from '../support/timing.ts'

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

  it('ends a statement that takes too long', async () => {
    const { pool } = openPool({ statementTimeoutMs: 100 })
    await expect(pool.query('select pg_sleep(5)')).rejects.toThrow(/statement timeout/)
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

describe('a pool to which PostgreSQL gives fewer connections than it may open', () => {
  it('lets a burst of statements take turns on the connections that it has', async () => {
    const { pool } = openPool({ databaseUrl: await limitedUrl(database, 2), connectionsMax: 12 })
    const burst = Array.from({ length: 40 }, () => pool.query('select pg_sleep(0.01)'))
    const failed = (await Promise.allSettled(burst)).filter(({ status }) => status === 'rejected')
    expect(failed).toEqual([])
    expect(pool.totalCount).toBe(2)
    await pool.end()
  })

  it('waits for the first connection, and gives up at the limit with what PostgreSQL says', async () => {
    const databaseUrl = await limitedUrl(database, 1)
    const { pool: other } = openPool({ databaseUrl })
    const taken = await other.connect()
    const { pool: hasty } = openPool({ databaseUrl, connectTimeoutMs: 1_500 })
    const waitedMs = await timed(() =>
      expect(hasty.query('select 1')).rejects.toMatchObject({ code: '53300' }),
    )
    expect(waitedMs).toBeGreaterThan(1_000)
    expect(waitedMs).toBeLessThan(4_500)
    const { pool } = openPool({ databaseUrl })
    const asked = pool.query('select 1 as one')
    await sleep(100)
    taken.release(true)
    expect((await asked).rows).toEqual([{ one: 1 }])
    await Promise.all([hasty.end(), pool.end(), other.end()])
  })
})
