import { createHash, randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { describe, expect, it, vi } from 'vitest'
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

/** Runs `work` and returns its answer and the number of statements with this name that it sent. */
async function withStatements<Answer>(name: string, work: () => Promise<Answer>) {
  const sent = vi.spyOn(Client.prototype, 'query')
  const answer = await work().finally(() => sent.mockRestore())
  const statements = sent.mock.calls.filter(([first]: readonly unknown[]) => {
    return typeof first === 'object' && first !== null && 'name' in first && first.name === name
  })
  return { answer, statements: statements.length }
}

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
    const { answer, statements } = await withStatements('read-tasks', () =>
      Promise.all(
        tasks.flatMap(({ taskId }) => [
          ...callers.map(({ accountId }) => readTask(taskId, accountId)),
          readTask(taskId),
          readTask(`${taskId.slice(0, -1)}-`),
        ]),
      ),
    )
    const seen = answer.map((task) => task && [task.taskId, task.accountId])
    const wanted = tasks.flatMap(({ taskId, owner }) => [
      ...callers.map((caller) => (caller === owner ? [taskId, owner.accountId] : undefined)),
      [taskId, owner.accountId],
      undefined,
    ])
    expect(seen).toEqual(wanted)
    expect(statements).toBeLessThanOrEqual(6)
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
    const { answer, statements } = await withStatements('find-callers', () =>
      Promise.all(keys.map(({ secretHash }) => findCaller([randomBytes(32), secretHash]))),
    )
    expect(answer.map((caller) => caller?.accountId)).toEqual(keys.map(({ found }) => found))
    expect(statements).toBeLessThanOrEqual(2)
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
