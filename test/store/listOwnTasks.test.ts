import { beforeAll, describe, expect, it } from 'vitest'
import type { OwnTaskFilter } from '../../src/domain/ports/accountReads.ts'
import { listOwnTasks } from '../../src/store/tasks/listOwnTasks.ts'
import { blocksRead } from '../support/database/blocksRead.ts'
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
      const list = () => listOwnTasks(database.pool, accountId, { ...filter, limit: 20 })
      expect(await blocksRead(database.pool, list)).toBeLessThan(120)
    },
  )
})
