import { describe, expect, it } from 'vitest'
import { ensureChannels, pauseChannel } from '../../src/store/channels/channelAdmin.ts'
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

  it('says which channels are paused', async () => {
    await ensureChannels(database.pool, ['open', 'paused'])
    await pauseChannel(database.pool, 'paused', 'for a test')
    const sample = await sampleState(database.pool)
    const values = sample
      .filter(({ gauge }) => gauge === 'darkroom_channel_paused')
      .map(({ labels, value }) => [labels['channel'], value])
    expect(Object.fromEntries(values)).toEqual({ open: 0, paused: 1 })
  })
})
