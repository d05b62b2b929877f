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
import { watchStatements } from '../support/database/watchStatements.ts'

const database = useTestDatabase()

describe('queries of one turn of the event loop', () => {
  it('ask for many tasks in few statements, each for its own account', async () => {
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
    const sent = watchStatements()
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
    expect(sent.length).toBeLessThanOrEqual(4)
    expect(sent).toContain('read-tasks')
  })

  it('leave a large native response to a statement of its own', async () => {
    const { accept } = createTestAccept(database.pool)
    const caller = await createTestCaller(database.pool, 1_000)
    const [large, small] = await Promise.all(
      [100_000, 100].map(async (bytes) => {
        const { taskId } = accepted(await accept({ caller, request: generateRequest() }))
        // Random, so that PostgreSQL cannot compress it.
        const native = { response: { text: randomBytes(bytes).toString('hex') }, imagePath: [] }
        await database.pool.query('update task set native_response = $2 where task_id = $1', [
          taskId,
          JSON.stringify(native),
        ])
        return { taskId, native }
      }),
    )
    const { readTask } = createTaskStore(database.pool)
    const sent = watchStatements()
    const answer = await Promise.all(
      [large, small, large].map((task) => readTask(task?.taskId ?? '')),
    )
    expect(answer.map((task) => task?.native)).toEqual([large, small, large].map((t) => t?.native))
    // One joined statement, and one for each reader of the large response.
    expect(sent).toEqual(['read-tasks', 'read-tasks', 'read-tasks'])
  })

  it('ask for many keys in few statements; a revoked key changes nothing for the others', async () => {
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
    const sent = watchStatements()
    const answer = await Promise.all(
      keys.map(({ secretHash }) => findCaller([randomBytes(32), secretHash])),
    )
    expect(answer.map((caller) => caller?.accountId)).toEqual(keys.map(({ found }) => found))
    expect(sent).toEqual(['find-callers'])
  })

  it('are sent only after they were asked, and at once when nothing is under way', async () => {
    const statements: { questions: readonly number[]; answer: () => void }[] = []
    const ask = joinQueries(async (questions: readonly number[]) => {
      await new Promise<void>((resolve) => statements.push({ questions, answer: resolve }))
      return questions
    })
    const sent = () => statements.map(({ questions }) => questions)
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    const first = ask(1)
    await Promise.resolve()
    expect(sent()).toEqual([[1]])
    const second = [ask(2), ask(3)]
    await turn()
    const third = ask(4)
    await turn()
    expect(sent()).toEqual([[1], [2, 3], [4]])
    for (const { answer } of statements) answer()
    expect(await Promise.all([first, ...second, third])).toEqual([1, 2, 3, 4])
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
