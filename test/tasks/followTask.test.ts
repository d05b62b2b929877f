import { describe, expect, it } from 'vitest'
import { builtInCapabilities } from '../../src/domain/models/capabilities.ts'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import { openMessages } from '../../src/store/connection/messages.ts'
import { createTaskEnds } from '../../src/store/tasks/taskEnds.ts'
import type { TaskEvent } from '../../src/tasks/followTask.ts'
import { createFollowTask } from '../../src/tasks/followTask.ts'
import { createTaskStore } from '../../src/store/tasks/taskStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt, createTestAttempts } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

/** Short enough that the progress is near its end after a second. Long enough to see many of its steps. */
const usualDurationMs = 600
const capabilities = {
  ...builtInCapabilities,
  'familyb-image-2-vip': { ...builtInCapabilities['familyb-image-2-vip'], usualDurationMs },
}

async function createWorld(pollMs: number) {
  const { pool, databaseUrl } = database
  const messages = await openMessages({ databaseUrl, hears: 'task_end', onError: () => {} })
  const ends = createTaskEnds({ pool, hear: messages.hear, pollMs, onError: () => {} })
  const attempts = await createTestAttempts(pool, undefined, messages.announceEnd)
  const follow = createFollowTask({ store: createTaskStore(pool), ends, capabilities })
  const events: TaskEvent[] = []
  const following = async (taskId: string, signal: AbortSignal, lastId?: number) => {
    for await (const event of follow(taskId, signal, lastId)) events.push(event)
  }
  const close = async () => {
    await ends.close()
    await messages.close()
  }
  return { attempts, events, following, close }
}

/** Ends the first call of a task, and with it the task. */
async function rejectCall(attempts: AttemptStore, taskId: string): Promise<void> {
  const evidence = { reason: 'content_policy' } as const
  await attempts.closeAttempt({ taskId, n: 1, class: 'rejected', evidence })
  await attempts.failTask(taskId, failure, 1)
}

const ids = (events: readonly TaskEvent[]) => events.map(({ id }) => id)
const limit = () => AbortSignal.timeout(20_000)

describe('follow', () => {
  it('yields the change to processing also when the call is over before the next read', async () => {
    const { attempts, events, following, close } = await createWorld(600_000)
    const { taskId } = await insertTask(database.pool)
    const done = following(taskId, limit())
    await expect.poll(() => ids(events)).toEqual([0])
    await openAttempt(attempts, taskId)
    await rejectCall(attempts, taskId)
    await done
    // The progress is 1 when the first call begins, and the id is one more.
    expect(ids(events)).toEqual([0, 2, 1_000])
    expect(events[1]?.task).toMatchObject({ taskId, status: 'processing' })
    expect(events[1]?.task).not.toHaveProperty('completedAtMs')
    // A reader who comes back after the queued task has missed the same change.
    events.splice(0)
    await following(taskId, limit(), 0)
    expect(ids(events)).toEqual([2, 1_000])
    events.splice(0)
    await following(taskId, limit())
    expect(ids(events)).toEqual([1_000])
    await close()
  })

  it('does not believe that the reader has seen the end of a live task', async () => {
    const { events, following, close } = await createWorld(600_000)
    const { taskId } = await insertTask(database.pool)
    await following(taskId, AbortSignal.timeout(200), 1_000)
    expect(ids(events)).toEqual([0])
    await close()
  })
})
