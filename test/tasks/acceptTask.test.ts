import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newUploadId } from '../../src/domain/ids.ts'
import type { ImageRequest, Route } from '../../src/domain/tasks/imageRequest.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { discardUpload, openUpload } from '../../src/store/reconcile/uploads.ts'
import { createTaskStore } from '../../src/store/tasks/taskStore.ts'
import { balanceOf, entriesOf } from '../support/database/money.ts'
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

describe('acceptTask and the balance', () => {
  it('accepts ten of 64 concurrent submits with credits for ten [money-1]', async () => {
    const caller = await createTestCaller(database.pool, 10 * testCredits + testCredits - 1)
    const { accept } = createTestAccept(database.pool)
    const answers = await Promise.all(
      many.map((index) =>
        accept({ caller, request: generateRequest(), idempotencyKey: keyBytes(`key ${index}`) }),
      ),
    )
    expect(answers.filter(({ ok }) => ok)).toHaveLength(10)
    expect(answers.map(refusal).filter((tag) => tag === 'insufficient_quota')).toHaveLength(54)
    expect(await countOf(database.pool, 'task', caller.accountId)).toBe(10)
    expect(await countOf(database.pool, 'ledger', caller.accountId)).toBe(10)
    expect(await countOf(database.pool, 'idempotency_key', caller.accountId)).toBe(10)
    expect(await balanceOf(database.pool, caller.accountId)).toEqual({
      available: testCredits - 1,
      held: 10 * testCredits,
      spent: 0,
    })
    expect(await verifyLedger(database.pool)).toEqual([])
  })

  it('says how many credits a refused request needs, including its source images', async () => {
    const caller = await createTestCaller(database.pool, 13)
    const { accept } = createTestAccept(database.pool)
    const input = { blobKey: 'x/0', mimeType: 'image/png', bytes: 1, sha256: '00' } as const
    const request = generateRequest({ action: 'edit', inputs: [input, input] })
    const answer = await accept({ caller, request })
    expect(answer).toEqual({
      ok: false,
      failure: { tag: 'insufficient_quota', requiredCredits: 14 },
    })
  })

  it('accepts a free request with an empty balance, with a hold of no credits', async () => {
    const caller = await createTestCaller(database.pool, 0)
    const free = { model: 'familyb-image-2-vip', credits: 0, creditsPerInputImage: 0 } as const
    const { accept } = createTestAccept(database.pool, { prices: [free] })
    const taskId = accepted(await accept({ caller, request: generateRequest() })).taskId
    expect(await entriesOf(database.pool, taskId)).toEqual([{ kind: 'hold', credits: 0 }])
  })
})

describe('what acceptTask writes', () => {
  it.each<Route>(['images.tasks', 'images.generations'])(
    'waits for the disk before the answer: %s',
    async (route) => {
      const caller = await createTestCaller(database.pool, 100)
      // With one connection, the insert runs inside of the transaction.
      const pool = createPool({
        databaseUrl: database.databaseUrl,
        applicationName: 'test-accept',
        connectionsMax: 1,
        onConnectionError: () => undefined,
      })
      onTestFinished(() => pool.end())
      await pool.query('begin')
      await pool.query('set local synchronous_commit = on')
      accepted(await createTestAccept(pool).accept({ caller, request: generateRequest({ route }) }))
      const { rows } = await pool.query('show synchronous_commit')
      await pool.query('commit')
      expect(rows).toEqual([{ synchronous_commit: 'on' }])
    },
  )

  it('keeps the span of the client', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept } = createTestAccept(database.pool)
    const traceparent = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`
    const { taskId } = accepted(await accept({ caller, request: generateRequest(), traceparent }))
    const { rows } = await database.pool.query('select traceparent from task where task_id = $1', [
      taskId,
    ])
    expect(rows).toEqual([{ traceparent }])
  })

  it('writes deadline, hard end, digest and request, and queues the start', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept, started } = createTestAccept(database.pool)
    const request = generateRequest({ size: '1024x1024', route: 'images.generations' })
    const { taskId } = accepted(
      await accept({ caller, request, idempotencyKey: keyBytes('written') }),
    )
    const { rows } = await database.pool.query(
      `select extract(epoch from deadline_at - created_at)::int as deadline,
         extract(epoch from hard_end_at - created_at)::int as "hardEnd",
         request, status, key_id as "keyId", encode(key_digest, 'hex') as digest
       from task where task_id = $1`,
      [taskId],
    )
    const digest = started[0]?.keyDigest
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    expect(rows).toEqual([
      {
        deadline: 600,
        hardEnd: 960,
        request: JSON.stringify(request),
        status: 'queued',
        keyId: 'key_test',
        digest,
      },
    ])
    expect(started).toEqual([
      {
        taskId,
        accountId: caller.accountId,
        family: 'B',
        model: 'familyb-image-2-vip',
        action: 'generate',
        size: '1024x1024',
        sync: true,
        keyDigest: digest,
      },
    ])
  })

  it('keeps the creation time in whole seconds, equal in answer and record', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept } = createTestAccept(database.pool)
    const { taskId, createdAtMs } = accepted(await accept({ caller, request: generateRequest() }))
    expect(createdAtMs % 1000).toBe(0)
    const view = await createTaskStore(database.pool).readTask(taskId, caller.accountId)
    expect(view?.createdAtMs).toBe(createdAtMs)
  })

  it('takes the upload once; a later discard does not change it', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept } = createTestAccept(database.pool)
    const uploadId = newUploadId(randomBytes, 'input')
    await openUpload(database.pool, uploadId, 60_000)
    const input = { caller, request: generateRequest({ action: 'edit' }), uploadId }
    const { taskId } = accepted(await accept(input))
    await discardUpload(database.pool, uploadId)
    const { rows } = await database.pool.query(
      `select task_id as "taskId", sweep_after = 'infinity' as kept from upload
       where upload_id = $1`,
      [uploadId],
    )
    expect(rows).toEqual([{ taskId, kept: true }])
    await expect(accept(input)).rejects.toThrow(/Bug/)
    expect(await countOf(database.pool, 'task', caller.accountId)).toBe(1)
  })

  it('does not take the upload when the request cannot be paid', async () => {
    const caller = await createTestCaller(database.pool, 1)
    const { accept } = createTestAccept(database.pool)
    const uploadId = newUploadId(randomBytes, 'input')
    await openUpload(database.pool, uploadId, 60_000)
    const request = generateRequest({ action: 'edit' })
    expect(refusal(await accept({ caller, request, uploadId }))).toBe('insufficient_quota')
    const { rows } = await database.pool.query(
      'select task_id as "taskId" from upload where upload_id = $1',
      [uploadId],
    )
    expect(rows).toEqual([{ taskId: null }])
  })
})

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

  it('answers all of 64 concurrent submits with the same key by the last credits of an account', async () => {
    const caller = await createTestCaller(database.pool, testCredits)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('last') }
    const answers = (await Promise.all(many.map(() => accept(input)))).map(accepted)
    expect(new Set(answers.map(({ taskId }) => taskId)).size).toBe(1)
    expect(await verifyLedger(database.pool)).toEqual([])
  })

  it('holds the price of live tasks and no more when 64 submits race for four keys', async () => {
    const caller = await createTestCaller(database.pool, 1_000)
    const { accept } = createTestAccept(database.pool)
    const submits = many.map((index) =>
      accept({ caller, request: generateRequest(), idempotencyKey: keyBytes(`key ${index % 4}`) }),
    )
    const answers = (await Promise.all(submits)).map(accepted)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(4)
    expect(await countOf(database.pool, 'task', caller.accountId)).toBe(4)
    expect(await balanceOf(database.pool, caller.accountId)).toEqual({
      available: 1_000 - 4 * testCredits,
      held: 4 * testCredits,
      spent: 0,
    })
    expect(await verifyLedger(database.pool)).toEqual([])
  })

  it('replays a task when the balance is empty and the account has lost access to the model', async () => {
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

  it('frees the key after a submit that could not be paid', async () => {
    const caller = await createTestCaller(database.pool, testCredits - 1)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('poor') }
    expect(refusal(await accept(input))).toBe('insufficient_quota')
    expect(await countOf(database.pool, 'idempotency_key', caller.accountId)).toBe(0)
    await database.pool.query(
      'update balance set available = 100, deposited = deposited + 100 where account_id = $1',
      [caller.accountId],
    )
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
