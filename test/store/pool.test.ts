import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { PoolOptions } from '../../src/store/connection/pool.ts'
import { queryWithOwnPlan } from '../../src/store/connection/ownPlan.ts'
import { createPool, openConnections } from '../../src/store/connection/pool.ts'
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

  it('plans a statement once, with an index also for a small table, when it is told to', async () => {
    const { pool } = openPool({ plansOnce: true, connectionsMax: 1 })
    await pool.query('create temporary table small (id integer primary key)')
    const text = 'select from small where id = $1'
    await pool.query({ name: 'of-small', text, values: [1] })
    const { rows } = await pool.query(
      `select generic_plans::int as generic, custom_plans::int as custom
       from pg_prepared_statements where name = 'of-small'`,
    )
    expect(rows).toEqual([{ generic: 1, custom: 0 }])
    const explained = await pool.query('explain (format json) select from small where id = 1')
    expect(JSON.stringify(explained.rows)).not.toContain('Seq Scan')
    await pool.end()
  })

  it('plans a statement for its values when it is told to, and the next one for all values again', async () => {
    const { pool } = openPool({ plansOnce: true, connectionsMax: 1 })
    const modes = `select current_setting('plan_cache_mode') as mode, current_setting('enable_seqscan') as seqscan`
    const { rows: own } = await queryWithOwnPlan(pool, { text: modes })
    expect(own).toEqual([{ mode: 'force_custom_plan', seqscan: 'on' }])
    const { rows: next } = await pool.query(modes)
    expect(next).toEqual([{ mode: 'force_generic_plan', seqscan: 'off' }])
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

  it('rejects when no server listens at the address', async () => {
    const { pool } = openPool({ databaseUrl: 'postgres://postgres@127.0.0.1:1/none' })
    await expect(pool.query('select 1')).rejects.toThrow(/ECONNREFUSED/)
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

  it('opens more once PostgreSQL gives more', async () => {
    const databaseUrl = await limitedUrl(database, 2)
    const { pool } = openPool({ databaseUrl, connectionsMax: 4 })
    const burst = () =>
      Promise.all(Array.from({ length: 4 }, () => pool.query('select pg_sleep(0.1)')))
    await burst()
    expect(pool.totalCount).toBe(2)
    await database.pool.query(`alter role ${new URL(databaseUrl).username} connection limit 4`)
    await sleep(1_200)
    await burst()
    expect(pool.totalCount).toBe(4)
    await pool.end()
  })

  it('opens the first ones without a wait for those that it does not get', async () => {
    const { pool } = openPool({ databaseUrl: await limitedUrl(database, 2), connectionsMax: 8 })
    expect(await timed(() => openConnections(pool, 8))).toBeLessThan(5_000)
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
