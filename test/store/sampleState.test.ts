import { describe, expect, it } from 'vitest'
import { sampleState } from '../../src/store/sampleState.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

describe('a sample of the state', () => {
  it('counts live tasks and what they hold, and no ended task', async () => {
    const { accountId } = await insertTask(database.pool)
    await insertEndedTasks(database.pool, { accountId, count: 2 })
    await insertEndedTasks(database.pool, { accountId, count: 2, status: 'failed' })
    const { tasks, holdsOpen, creditsHeld } = await sampleState(database.pool)
    expect(tasks).toEqual([{ status: 'queued', count: 1, oldestSeconds: expect.any(Number) }])
    expect({ holdsOpen, creditsHeld }).toEqual({ holdsOpen: 1, creditsHeld: 10 })
  })
})
