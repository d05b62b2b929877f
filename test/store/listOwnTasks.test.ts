import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { OwnTaskFilter } from '../../src/domain/ports/accountReads.ts'
import { listOwnTasks } from '../../src/store/tasks/listOwnTasks.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { createTestCaller } from '../support/database/testAccept.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
let accountId: string
beforeAll(async () => {
  database = await createTestDatabase()
  ;({ accountId } = await createTestCaller(database.pool, 100_000))
  await insertEndedTasks(database.pool, { accountId, count: 10_000, every: '1 microsecond' })
  await database.pool.query('vacuum analyze task')
  return () => database.drop()
})

type Filter = Omit<OwnTaskFilter, 'limit'>

type Plan = {
  readonly Plan: {
    readonly 'Shared Hit Blocks': number
    readonly 'Shared Read Blocks': number
  }
}

/** Lists a page and returns how many blocks PostgreSQL read for it. */
async function blocksOf(filter: Filter): Promise<number> {
  const { pool } = database
  const sent = vi.spyOn(pool, 'query')
  await listOwnTasks(pool, accountId, { ...filter, limit: 20 })
  const [text, values] = sent.mock.lastCall ?? []
  sent.mockRestore()
  const explain = `explain (analyze, buffers, format json) ${String(text)}`
  const parameters: unknown[] = Array.isArray(values) ? values : []
  const { rows } = await pool.query<{ 'QUERY PLAN': readonly Plan[] }>(explain, parameters)
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error('no plan')
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

describe('a page of the list of tasks', () => {
  const filters: readonly Filter[] = [
    {},
    { model: 'familyb-image-2-vip' },
    { model: 'familyb-image-2-web' },
    { action: 'generate' },
    { action: 'edit' },
    { status: 'queued' },
    { status: 'processing' },
    { status: 'succeeded' },
    { status: 'failed' },
    { status: 'expired' },
  ]
  it.each(filters.map((filter) => [filter] as const))(
    'reads no long history for the filter %j',
    async (filter) => {
      // The table has more than 300 blocks.
      expect(await blocksOf(filter)).toBeLessThan(120)
    },
  )
})
