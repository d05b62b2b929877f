import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { joinQueries } from '../../src/store/connection/joinQueries.ts'
import { createAccountStore, createTaskStore } from '../../src/wiring/stores.ts'
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

  it('ask for many keys; a revoked key changes nothing for the others', async () => {
    const accounts = createAccountStore(database.pool)
    const { findCaller } = createTaskStore(database.pool)
    const keys = await Promise.all(
      Array.from({ length: 20 }, async (_none, n) => {
        const caller = await createTestCaller(database.pool, 0)
        const secretHash = createHash('sha256').update(randomBytes(8)).digest()
        const terms = { accountId: caller.accountId, prefix: 'sk-', pepperId: 'p1', secretHash }
        const key = await accounts.createKey({ keyId: `key_${caller.accountId}`, ...terms })
        if (n % 5 === 0) await accounts.revokeKey(key.keyId)
        return { secretHash, found: n % 5 === 0 ? undefined : caller.accountId }
      }),
    )
    const answer = await Promise.all(
      keys.map(({ secretHash }) => findCaller([randomBytes(32), secretHash])),
    )
    expect(answer.map((caller) => caller?.accountId)).toEqual(keys.map(({ found }) => found))
  })

  it('fail together, and only together', async () => {
    let isAway = true
    const ask = joinQueries(async (questions: readonly number[]) => {
      if (isAway) throw new Error('connection lost')
      return questions
    })
    const failed = await Promise.allSettled([ask(1), ask(2)])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    isAway = false
    expect(await Promise.all([ask(3), ask(4)])).toEqual([3, 4])
  })
})
