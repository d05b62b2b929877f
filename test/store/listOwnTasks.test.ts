import { Client } from 'pg'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { OwnTaskFilter } from '../../src/domain/ports/accountReads.ts'
import { queryWithOwnPlan } from '../../src/store/connection/ownPlan.ts'
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

/** Lists a page and returns how many blocks PostgreSQL reads for it with a plan for these values. */
async function blocksOf(filter: Filter): Promise<number> {
  const { pool } = database
  const sent = vi.spyOn(Client.prototype, 'query')
  await listOwnTasks(pool, accountId, { ...filter, limit: 20 })
  const [, settings, statement] = sent.mock.calls.map(([first]): unknown => first)
  sent.mockRestore()
  expect(settings).toContain('force_custom_plan')
  const { text, values } = listStatement.parse(statement)
  const { rows } = await queryWithOwnPlan<{ 'QUERY PLAN': readonly Plan[] }>(pool, {
    text: `explain (analyze, buffers, format json) ${text}`,
    values,
  })
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error('no plan')
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

const listStatement = z.object({ text: z.string(), values: z.array(z.unknown()) })

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
