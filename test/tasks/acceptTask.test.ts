import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { newUploadId } from '../../src/domain/ids.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { discardUpload, openUpload } from '../../src/store/uploads.ts'
import { balanceOf, entriesOf } from '../support/database/money.ts'
import {
  accepted,
  rowCountOf,
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
    expect(await rowCountOf(database.pool, 'task', caller.accountId)).toBe(10)
    expect(await rowCountOf(database.pool, 'ledger', caller.accountId)).toBe(10)
    expect(await rowCountOf(database.pool, 'idempotency_key', caller.accountId)).toBe(10)
    expect(await balanceOf(database.pool, caller.accountId)).toEqual({
      available: testCredits - 1,
      held: 10 * testCredits,
      spent: 0,
    })
    expect(await verifyLedger(database.pool)).toEqual([])
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
  it('is written at once although every connection is from before a failover, the row of its images too', async () => {
    const { databaseUrl } = database
    const options = { applicationName: 'test', onConnectionError: () => {} }
    const pool = createPool({ databaseUrl, connectionsMax: 3, ...options })
    onTestFinished(() => pool.end())
    const stale = await Promise.all([pool.connect(), pool.connect(), pool.connect()])
    for (const client of stale) await client.query('set default_transaction_read_only = on')
    for (const client of stale) client.release()
    const uploadId = newUploadId('input')
    await openUpload(pool, uploadId, 60_000)
    const caller = await createTestCaller(database.pool, testCredits)
    const { accept } = createTestAccept(pool)
    accepted(await accept({ caller, request: generateRequest(), uploadId }))
    expect(await rowCountOf(database.pool, 'task', caller.accountId)).toBe(1)
  })

  it('writes deadline, hard end and digest, and queues the start', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept, started } = createTestAccept(database.pool)
    const request = generateRequest({ size: '1024x1024', route: 'images.generations' })
    const input = { caller, request, idempotencyKey: keyBytes('written') }
    const { taskId } = accepted(await accept(input))
    const { rows } = await database.pool.query(
      `select extract(epoch from deadline_at - created_at)::int as deadline,
         extract(epoch from hard_end_at - created_at)::int as "hardEnd",
         encode(key_digest, 'hex') as "keyDigest"
       from task where task_id = $1`,
      [taskId],
    )
    const keyDigest = createHash('sha256').update('written').digest('hex')
    expect(rows).toEqual([{ deadline: 600, hardEnd: 960, keyDigest }])
    const { accountId } = caller
    const { family, model, action, size } = request
    const start = { taskId, accountId, family, model, action, size, sync: true, keyDigest }
    expect(started).toEqual([start])
  })

  it('takes the upload once, and none that is due for the sweep; a later discard does not change it', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept } = createTestAccept(database.pool)
    const uploadId = newUploadId('input')
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
    const late = newUploadId('input')
    await openUpload(database.pool, late, 0)
    await expect(accept({ ...input, uploadId: late })).rejects.toThrow(/Bug/)
    expect(await rowCountOf(database.pool, 'task', caller.accountId)).toBe(1)
  })
})

describe('acceptTask with an idempotency key', () => {
  it('answers all of 64 concurrent submits with the same key by the last credits of an account', async () => {
    const caller = await createTestCaller(database.pool, testCredits)
    const { accept } = createTestAccept(database.pool)
    const input = { caller, request: generateRequest(), idempotencyKey: keyBytes('last') }
    const answers = (await Promise.all(many.map(() => accept(input)))).map(accepted)
    expect(new Set(answers.map(({ taskId }) => taskId)).size).toBe(1)
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

  it('answers with the task of the key, and not with the balance that this task has used up, however close they are', async () => {
    const caller = await createTestCaller(database.pool, testCredits)
    const { accept } = createTestAccept(database.pool)
    const request = generateRequest({ route: 'images.generations' })
    const input = { caller, request, idempotencyKey: keyBytes('close') }
    let taskId: string | undefined
    // The equal request is accepted while this one is being looked at.
    const failureOf = async () => {
      taskId = accepted(await accept(input)).taskId
      return undefined
    }
    const { answerWithoutTask } = createTestAccept(database.pool, { refusedModels: { failureOf } })
    const answer = await answerWithoutTask(input)
    expect(answer).toMatchObject({ ok: true, value: { taskId, replayed: true } })
    const other = await answerWithoutTask({ ...input, idempotencyKey: keyBytes('another') })
    expect(other).toMatchObject({ ok: false })
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
