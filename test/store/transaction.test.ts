import { beforeAll, describe, expect, it } from 'vitest'
import { rollback, withTransaction } from '../../src/store/connection/transaction.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.pool.query('create table box (name text primary key, content integer)')
  await database.pool.query(`insert into box values ('a', 0), ('b', 0)`)
  return () => database.drop()
})

async function contentOf(name: string): Promise<number | undefined> {
  const { rows } = await database.pool.query<{ content: number }>(
    'select content from box where name = $1',
    [name],
  )
  return rows[0]?.content
}

describe('withTransaction', () => {
  it('rolls back and returns the value when the work returns a rollback', async () => {
    const answer = await withTransaction(database.pool, async (client) => {
      await client.query(`insert into box values ('trace', 1)`)
      return rollback('taken back')
    })
    expect(answer).toBe('taken back')
    expect(await contentOf('trace')).toBeUndefined()
  })

  it('rolls back and throws the same error when the work throws', async () => {
    const work = withTransaction(database.pool, async (client) => {
      await client.query(`insert into box values ('trace', 1)`)
      throw new Error('no more')
    })
    await expect(work).rejects.toThrow('no more')
    expect(await contentOf('trace')).toBeUndefined()
  })

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
