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
    const sample = await sampleState(database.pool)
    const valueOf = (gauge: string, status?: string) =>
      sample.find((one) => one.gauge === gauge && one.labels['status'] === status)?.value
    expect(valueOf('darkroom_tasks', 'queued')).toBe(1)
    expect(valueOf('darkroom_tasks', 'processing')).toBe(0)
    expect(valueOf('darkroom_oldest_task_age_seconds', 'processing')).toBe(0)
    expect(valueOf('darkroom_holds_open')).toBe(1)
    expect(valueOf('darkroom_credits_held')).toBe(10)
  })
})
