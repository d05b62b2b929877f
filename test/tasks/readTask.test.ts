import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { AnswerMeta } from '../../src/domain/storedAnswer.ts'
import { builtInCapabilities } from '../../src/domain/capabilities.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import type { Caller } from '../../src/domain/account.ts'
import { newTaskId } from '../../src/domain/ids.ts'
import { priceList } from '../../src/domain/prices.ts'
import { createTaskEnds } from '../../src/store/tasks/taskEnds.ts'
import { createTaskStore } from '../../src/wiring/stores.ts'
import { createTaskService } from '../../src/tasks/taskService.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { insertTask } from '../support/database/insertTask.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  return () => database.drop()
})

/** Holds nothing but one `meta.json`. */
function blobsWith(meta: AnswerMeta): BlobStore {
  const bytes = Buffer.from(JSON.stringify(meta))
  return {
    put: () => Promise.reject(new Error('not asked for')),
    read: () => Promise.resolve({ bytes: bytes.length, content: chunks(bytes) }),
    deletePrefix: () => Promise.resolve(),
    storeId: () => Promise.resolve('test'),
  }
}

async function* chunks(bytes: Uint8Array) {
  yield bytes.subarray(0, 10)
  yield bytes.subarray(10)
}

function metaOf(taskId: string): AnswerMeta {
  const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab', width: 1, height: 1 } as const
  const response = { created: 5, data: [{ b64_json: '' }], note: '\u0000 \ud800' }
  const native = { response, imagePath: ['data', 0, 'b64_json'] }
  return { version: 1, taskId, attempt: 1, image, native }
}

async function serviceWith(meta: AnswerMeta, blobs: BlobStore = blobsWith(meta)) {
  const { pool, databaseUrl } = database
  return createTaskService({
    store: createTaskStore(pool),
    attempts: await createTestAttempts(pool),
    ends: createTaskEnds({ databaseUrl, pool, onConnectionError: () => {} }),
    blobs,
    peppers: [],
    live: () => Promise.resolve(undefined),
    capabilities: builtInCapabilities,
    prices: priceList([]),
    taskDeadlineMs: 1_000,
    longestTimeoutMs: () => 1_000,
    randomBytes,
    onAccepted: () => {},
  })
}

async function succeededTask() {
  const task = await insertTask(database.pool)
  const attempts = await createTestAttempts(database.pool)
  const begun = await attempts.beginAttempt({ taskId: task.taskId })
  if (begun.kind !== 'opened') throw new Error(begun.kind)
  const meta = metaOf(task.taskId)
  await attempts.settleTask({ meta, answerId: begun.attempt.answerId })
  return { ...task, meta, answerId: begun.attempt.answerId }
}

const callerOf = (accountId: string): Caller => ({ accountId, keyId: 'key_test' })

describe('read', () => {
  it("answers an unknown task, a stranger's and a purged one alike", async () => {
    const { taskId, accountId } = await insertTask(database.pool)
    const service = await serviceWith(metaOf(taskId))
    const notFound = { ok: false, failure: { tag: 'task_not_found' } }
    expect(await service.read(callerOf(accountId), taskId)).toMatchObject({
      ok: true,
      value: { taskId, status: 'queued', model: 'familyb-image-2-vip' },
    })
    expect(await service.read(callerOf('acct_other'), taskId)).toEqual(notFound)
    expect(await service.read(callerOf(accountId), newTaskId(randomBytes))).toEqual(notFound)
    await database.pool.query('update task set purge_at = now() where task_id = $1', [taskId])
    expect(await service.read(callerOf(accountId), taskId)).toEqual(notFound)
  })

  it('shows the asset of a succeeded task, and its answer until it expires', async () => {
    const { taskId, accountId, meta, answerId } = await succeededTask()
    const service = await serviceWith(meta)
    const read = await service.read(callerOf(accountId), taskId)
    if (!read.ok) throw new Error(read.failure.tag)
    expect(read.value).toMatchObject({
      status: 'succeeded',
      asset: { answerId, mimeType: 'image/png', bytes: 3, sha256: 'ab' },
    })
    expect((read.value.expiresAtMs ?? 0) - (read.value.completedAtMs ?? 0)).toBe(86_400_000)
    expect(await service.native(read.value)).toEqual(meta.native)
    const late = { ...read.value, nowMs: (read.value.expiresAtMs ?? 0) + 1 }
    expect(await service.native(late)).toBeUndefined()
  })

  it('needs no blob store for the native response of a task that has ended', async () => {
    const { taskId, accountId, meta } = await succeededTask()
    const ask = vi.fn<BlobStore['read']>(() => Promise.reject(new Error('the disk is gone')))
    const service = await serviceWith(meta, { ...blobsWith(meta), read: ask })
    const read = await service.read(callerOf(accountId), taskId)
    if (!read.ok) throw new Error(read.failure.tag)
    expect(await service.native(read.value)).toEqual(meta.native)
    expect(ask).not.toHaveBeenCalled()
  })

  it('finds the native response that an older version left in the blob store alone', async () => {
    const { taskId, accountId, meta } = await succeededTask()
    await database.pool.query('update task set native_response = null where task_id = $1', [taskId])
    const service = await serviceWith(meta)
    const read = await service.read(callerOf(accountId), taskId)
    if (!read.ok) throw new Error(read.failure.tag)
    expect(await service.native(read.value)).toEqual(meta.native)
  })

  it('gives back the native refusal of a task that has one', async () => {
    const { taskId } = await insertTask(database.pool)
    const service = await serviceWith(metaOf(taskId))
    expect(await service.nativeRefusal(taskId)).toBeUndefined()
    const refusal = { promptFeedback: { blockReason: 'SAFETY' } }
    await database.pool.query('update task set native_refusal = $2 where task_id = $1', [
      taskId,
      JSON.stringify(refusal),
    ])
    expect(await service.nativeRefusal(taskId)).toEqual(refusal)
  })
})

describe('uploads', () => {
  it('are recorded a day ahead of the sweep, and due at once when discarded', async () => {
    const service = await serviceWith(metaOf(newTaskId(randomBytes)))
    const uploadId = await service.openUpload()
    const dueInSeconds = async () => {
      const { rows } = await database.pool.query<{ due: number }>(
        `select extract(epoch from sweep_after - now())::int as due from upload
         where upload_id = $1`,
        [uploadId],
      )
      return rows[0]?.due
    }
    expect(await dueInSeconds()).toBeGreaterThan(86_390)
    await service.discardUpload(uploadId)
    expect(await dueInSeconds()).toBeLessThanOrEqual(0)
  })
})
