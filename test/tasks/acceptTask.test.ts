import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { newUploadId } from '../../src/domain/ids.ts'
import { discardUpload, openUpload } from '../../src/store/reconcile/uploads.ts'
import { createTaskStore } from '../../src/wiring/stores.ts'
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

describe('acceptTask with a prompt of megabytes', () => {
  it('pauses while it makes the texts of the request', async () => {
    const caller = await createTestCaller(database.pool, 1_000)
    const { accept } = createTestAccept(database.pool)
    const prompt = '\u0001'.repeat(2 * 1024 * 1024)
    let pauses = 0
    const pause = async () => void (pauses += 1)
    accepted(
      await accept({
        caller,
        request: generateRequest({ body: { kind: 'prompt', prompt } }),
        pause,
      }),
    )
    expect(pauses).toBeGreaterThan(2)
  })
})

describe('acceptTask and the balance', () => {
  it('accepts ten of 64 concurrent submits with credits for ten', async () => {
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

describe('acceptTask and the model', () => {
  it('refuses a model that the account may not use', async () => {
    const caller = await createTestCaller(database.pool, 100, ['familya-3-pro-image'])
    const { accept } = createTestAccept(database.pool)
    expect(refusal(await accept({ caller, request: generateRequest() }))).toBe('access_denied')
  })

  it('names the field as the client wrote it when the model does not support its value', async () => {
    const caller = await createTestCaller(database.pool, 100)
    const { accept } = createTestAccept(database.pool)
    const wide = generateRequest({ family: 'A', model: 'familya-3-pro-image', aspectRatio: '8:1' })
    expect(await accept({ caller, request: wide })).toMatchObject({
      failure: { code: 'invalid_value', param: 'aspect_ratio' },
    })
    const pixels = generateRequest({
      family: 'A',
      model: 'familya-3-pro-image',
      size: '1024x1024',
    })
    const size = 'generationConfig.imageConfig.imageSize'
    const paramNames = { size, aspectRatio: 'generationConfig.imageConfig.aspectRatio' }
    expect(await accept({ caller, request: pixels, paramNames })).toMatchObject({
      failure: { code: 'invalid_value', param: size },
    })
    expect(await countOf(database.pool, 'task', caller.accountId)).toBe(0)
  })
})

describe('what acceptTask writes', () => {
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
