import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { NothingWrittenError } from '../../src/domain/nothingWrittenError.ts'
import { openMessages } from '../../src/store/connection/messages.ts'
import type { PoolOptions } from '../../src/store/connection/pool.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { runStatement, withTransaction } from '../../src/store/connection/transaction.ts'
import { openLossyWay } from '../support/database/lossyWay.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { timed } from '../support/timing.ts'

const database = useTestDatabase()
beforeAll(async () => {
  await database.pool.query('create table box (name text primary key, content integer)')
  await database.pool.query(`insert into box values ('a', 0), ('b', 0)`)
})

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
  onTestFinished(() => pool.end())
  return { pool, lost }
}

describe('createPool', () => {
  it('reads bigint as a number and refuses a value outside the safe range', async () => {
    const { pool } = openPool()
    const { rows } = await pool.query('select 9007199254740991::bigint as credits')
    expect(rows).toEqual([{ credits: Number.MAX_SAFE_INTEGER }])
    await expect(pool.query('select 9007199254740993::bigint')).rejects.toThrow(/safe range/)
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
  })
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

/** Errors that PostgreSQL reports once on each connection whose `application_name` is `useless`. */
const uselessConnections = [
  ['it only reads', '25006'],
  ['a plan is too old', '0A000'],
  ['a prepared statement is gone', '26000'],
  ['a prepared statement is there already', '42P05'],
] as const

describe('a connection that is of no use', () => {
  const raise = (code: string) => ({
    text: `do $$ begin
      if current_setting('application_name') = 'useless' then
        raise exception using errcode = '${code}', message = 'useless';
      end if;
    end $$`,
  })
  const openUseless = async () => {
    const { pool } = openPool({ connectionsMax: 1 })
    await pool.query(`set application_name = 'useless'`)
    return pool
  }

  it.each(uselessConnections)(
    'is replaced under a statement and a transaction when %s',
    async (_what, code) => {
      expect(await runStatement(await openUseless(), raise(code))).toEqual([])
      const pool = await openUseless()
      await withTransaction(pool, (client) => client.query(raise(code)))
      expect(pool.totalCount).toBe(1)
    },
  )

  it.each(['57P01', '57P05', '25P03', '08006', '08P01'])(
    'is closed after an error that does not say what happened: %s',
    async (code) => {
      const first = await openUseless()
      await expect(runStatement(first, raise(code))).rejects.not.toThrow(NothingWrittenError)
      await runStatement(first, raise(code))
      const second = await openUseless()
      const transaction = () => withTransaction(second, (client) => client.query(raise(code)))
      await expect(transaction()).rejects.toMatchObject({ code })
      await transaction()
    },
  )

  it('is replaced when a migration changed the table behind a prepared statement', async () => {
    const { pool } = openPool({ connectionsMax: 1 })
    const prepared = { name: 'all', text: 'select * from lid' }
    await pool.query('create table lid (name text)')
    await runStatement(pool, prepared)
    await database.pool.query('alter table lid add column colour text')
    expect(await runStatement(pool, prepared)).toEqual([])
  })

  it('stays open after an error of the statement alone', async () => {
    const pool = await openUseless()
    await expect(runStatement(pool, raise('22012'))).rejects.toMatchObject({ code: '22012' })
    await expect(runStatement(pool, raise('22012'))).rejects.toMatchObject({ code: '22012' })
  })

  it('does not run the work more than twice', async () => {
    const { pool } = openPool()
    let runs = 0
    const work = async () => {
      runs += 1
      await pool.query(`do $$ begin raise exception using errcode = '25006'; end $$`)
    }
    await expect(withTransaction(pool, work)).rejects.toMatchObject({ code: '25006' })
    expect(runs).toBe(2)
  })
})

describe('runStatement', () => {
  const put = { text: `update box set content = content + 1 where name = 'a'` }

  it.each([
    ['a statement timeout', '', '57014'],
    ['a lock timeout', `set lock_timeout = '100ms'`, '55P03'],
  ])('says after %s that nothing was written', async (_what, setting, code) => {
    const { pool } = openPool({ connectionsMax: 1, statementTimeoutMs: 300 })
    const before = await contentOf('a')
    await pool.query(setting)
    await withTransaction(database.pool, async (client) => {
      await client.query(`select from box where name = 'a' for update`)
      const failed = runStatement(pool, put)
      await expect(failed).rejects.toThrow(NothingWrittenError)
      await expect(failed).rejects.toMatchObject({ cause: { code } })
    })
    expect(await contentOf('a')).toBe(before)
  })

  it('says so while the server only reads, and succeeds at once when it writes again', async () => {
    const setDefault = (value: string) =>
      database.pool.query(
        `alter database ${new URL(database.databaseUrl).pathname.slice(1)} set default_transaction_read_only = ${value}`,
      )
    const before = (await contentOf('a')) ?? 0
    onTestFinished(async () => void (await setDefault('off')))
    await setDefault('on')
    const { pool } = openPool({ connectionsMax: 5 })
    const failed = runStatement(pool, put)
    await expect(failed).rejects.toThrow(NothingWrittenError)
    await expect(failed).rejects.toMatchObject({ cause: { code: '25006' } })
    await Promise.all([1, 2, 3, 4].map(() => pool.query('select pg_sleep(0.1)')))
    expect(pool.idleCount).toBe(4)
    await setDefault('off')
    await runStatement(pool, put)
    await withTransaction(pool, (client) => client.query(put))
    expect(await contentOf('a')).toBe(before + 2)
    expect(pool.idleCount).toBe(1)
  })

  it('does not say so when the connection ends before the answer', async () => {
    const { pool } = openPool({ connectionsMax: 1, statementTimeoutMs: 300 })
    const failed = runStatement(pool, { text: 'select pg_terminate_backend(pg_backend_pid())' })
    await expect(failed).rejects.not.toThrow(NothingWrittenError)
  })
})

const open = (hears: 'task_end' | 'task', databaseUrl = database.databaseUrl) =>
  openMessages({ databaseUrl, hears, onError: () => {} })

it('a process that closes first sends all its messages, and each is heard only by those it is for', async () => {
  const [ends, tasks] = await Promise.all([open('task_end'), open('task')])
  onTestFinished(ends.close)
  onTestFinished(tasks.close)
  const heard = { ends: 0, tasks: 0 }
  ends.hear(() => (heard.ends += 1))
  tasks.hear(() => (heard.tasks += 1))
  const sender = await open('task')
  for (let n = 0; n < 200; n += 1) sender.announceEnd(`task_${n}`)
  await sender.close()
  await expect.poll(() => heard).toEqual({ ends: 200, tasks: 0 })
})

it('the connection for messages closes within seconds when PostgreSQL takes bytes and answers nothing', async () => {
  const way = await openLossyWay(database.databaseUrl)
  const messages = await open('task_end', way.url)
  way.lose(true)
  expect(await timed(() => messages.close())).toBeLessThan(8_000)
})
