import { describe, expect, it } from 'vitest'
import type { ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import { balanceOf } from '../support/database/money.ts'
import {
  accepted,
  countOf,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
  refusal,
  testCredits,
} from '../support/database/testAccept.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

const many = Array.from({ length: 64 }, (_, index) => index)

describe('acceptTask with an idempotency key', () => {
  it('makes one task and one hold from 64 concurrent submits with the same key', async () => {
    const caller = await createTestCaller(database.pool, 1_000)
    const { accept, started } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('once') }
    const answers = (await Promise.all(many.map(() => accept(input)))).map(accepted)
    expect(new Set(answers.map(({ taskId }) => taskId)).size).toBe(1)
    expect(new Set(answers.map(({ createdAtMs }) => createdAtMs)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await countOf(database.pool, 'task', caller.accountId)).toBe(1)
    expect(await countOf(database.pool, 'ledger', caller.accountId)).toBe(1)
    expect(await balanceOf(database.pool, caller.accountId)).toEqual({
      available: 1_000 - testCredits,
      held: testCredits,
      spent: 0,
    })
    expect(started.map(({ taskId }) => taskId)).toEqual([answers[0]?.taskId])
  })

  it('makes one task from 64 concurrent submits with credits for only one', async () => {
    const caller = await createTestCaller(database.pool, testCredits)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('the last') }
    const answers = (await Promise.all(many.map(() => accept(input)))).map(accepted)
    expect(new Set(answers.map(({ taskId }) => taskId)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
  })

  it('replays a task when the balance is empty and the account has lost access to the model [idem-6]', async () => {
    const caller = await createTestCaller(database.pool, testCredits)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('again') }
    const first = accepted(await accept(input))
    expect(await balanceOf(database.pool, caller.accountId)).toMatchObject({ available: 0 })
    const barred = { ...input, caller: { ...caller, models: [] } }
    expect(accepted(await accept(barred))).toEqual({ ...first, replayed: true })
  })

  it('refuses a different request as a conflict, without a new ledger row', async () => {
    const caller = await createTestCaller(database.pool, 1_000)
    const { accept } = createTestAccept(database.pool)
    const idempotencyKey = keyBytes('changed')
    await accept({ caller, request: generateRequest(), idempotencyKey })
    const changed: Partial<ImageRequest>[] = [
      { body: { kind: 'prompt', prompt: 'a lighthouse.' } },
      { quality: 'high' },
      { route: 'images.generations' },
    ]
    for (const change of changed) {
      const answer = await accept({ caller, request: generateRequest(change), idempotencyKey })
      expect(refusal(answer)).toBe('idempotency_key_reused')
    }
    expect(await countOf(database.pool, 'ledger', caller.accountId)).toBe(1)
    expect(await countOf(database.pool, 'task', caller.accountId)).toBe(1)
  })

  it('accepts one of several changed requests that race for a key', async () => {
    const caller = await createTestCaller(database.pool, 1_000)
    const { accept } = createTestAccept(database.pool)
    const answers = await Promise.all(
      many.slice(0, 16).map((index) => {
        const body = { kind: 'prompt', prompt: `lighthouse ${index}` } as const
        const request = generateRequest({ body })
        return accept({ caller, request, idempotencyKey: keyBytes('race') })
      }),
    )
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1)
    expect(new Set(answers.filter(({ ok }) => !ok).map(refusal))).toEqual(
      new Set(['idempotency_key_reused']),
    )
  })

  it('makes two tasks from the same key of two accounts', async () => {
    const { accept } = createTestAccept(database.pool)
    const callers = await Promise.all([1, 2].map(() => createTestCaller(database.pool, 100)))
    const answers = await Promise.all(
      callers.map((caller) =>
        accept({ caller, request: generateRequest(), idempotencyKey: keyBytes('shared') }),
      ),
    )
    expect(new Set(answers.map((answer) => accepted(answer).taskId)).size).toBe(2)
  })

  it('frees the key after a submit that could not be paid', async () => {
    const caller = await createTestCaller(database.pool, testCredits - 1)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('poor') }
    expect(refusal(await accept(input))).toBe('insufficient_quota')
    expect(await countOf(database.pool, 'idempotency_key', caller.accountId)).toBe(0)
    await database.pool.query('update balance set available = 100 where account_id = $1', [
      caller.accountId,
    ])
    expect(accepted(await accept(input)).replayed).toBe(false)
  })

  it('frees the key once its task is due for the purge, purged or not', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('later') }
    const first = accepted(await accept(input))
    await database.pool.query('update task set purge_at = now() where task_id = $1', [first.taskId])
    const second = accepted(await accept(input))
    expect(second).toMatchObject({ replayed: false })
    expect(second.taskId).not.toBe(first.taskId)
  })
})
