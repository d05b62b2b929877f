import { describe, expect, it } from 'vitest'
import { createTaskStore } from '../../src/wiring/stores.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

describe('queries of one turn of the event loop', () => {
  it('ask for many tasks, each for its own account', async () => {
    const { accept } = createTestAccept(database.pool)
    const callers = await Promise.all([1, 2].map(() => createTestCaller(database.pool, 1_000)))
    const accepting = callers.flatMap((owner) =>
      Array.from({ length: 15 }, async () => {
        const { taskId } = accepted(await accept({ caller: owner, request: generateRequest() }))
        return { taskId, owner }
      }),
    )
    const tasks = await Promise.all(accepting)
    const { readTask } = createTaskStore(database.pool)
    // Each task is asked for by both accounts, by nobody in particular, and together with unknown tasks.
    const answer = await Promise.all(
      tasks.flatMap(({ taskId }) => [
        ...callers.map(({ accountId }) => readTask(taskId, accountId)),
        readTask(taskId),
        readTask(`${taskId.slice(0, -1)}-`),
      ]),
    )
    const seen = answer.map((task) => task && [task.taskId, task.accountId])
    const wanted = tasks.flatMap(({ taskId, owner }) => [
      ...callers.map((caller) => (caller === owner ? [taskId, owner.accountId] : undefined)),
      [taskId, owner.accountId],
      undefined,
    ])
    expect(seen).toEqual(wanted)
  })
})
