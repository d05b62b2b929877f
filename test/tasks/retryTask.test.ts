import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { newUploadId } from '../../src/domain/ids.ts'
import type { ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { forgetRequests, openUpload } from '../../src/store/reconcile/uploads.ts'
import { createRetryTask } from '../../src/tasks/retryTask.ts'
import { createTaskAdmin } from '../../src/store/tasks/taskStore.ts'
import { balanceOf } from '../support/database/money.ts'
import {
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

function createRetry(credits = 25) {
  return createRetryTask({
    admin: createTaskAdmin(database.pool),
    prices: [{ model: 'familyb-image-2-vip', credits, creditsPerInputImage: 0 }],
    taskDeadlineMs: 60_000,
    longestTimeoutMs: () => 1_000,
    randomBytes,
  })
}

/** A task of 10 credits with its own upload, failed unless `live`. */
async function acceptedTask(given: {
  readonly credits?: number
  readonly request?: Partial<ImageRequest>
  readonly live?: true
}) {
  const { pool } = database
  const caller = await createTestCaller(pool, given.credits ?? 100)
  const { accept } = createTestAccept(pool, {
    prices: [{ model: 'familyb-image-2-vip', credits: 10, creditsPerInputImage: 0 }],
  })
  const uploadId = newUploadId(randomBytes, 'input')
  await openUpload(pool, uploadId, 60_000)
  const input = { blobKey: `${uploadId}/0`, mimeType: 'image/png', bytes: 1, sha256: '00' } as const
  const request = generateRequest({ action: 'edit', inputs: [input], ...given.request })
  const idempotencyKey = Buffer.from(uploadId)
  const answer = await accept({ caller, request, uploadId, idempotencyKey })
  if (!answer.ok) throw new Error(answer.failure.tag)
  const { taskId } = answer.value
  if (given.live !== true) {
    await (await createTestAttempts(pool)).failTask(taskId, failure, 0)
  }
  return { taskId, uploadId, accountId: caller.accountId }
}

describe('task retry', () => {
  it("makes a linked new task with today's price and the same inputs", async () => {
    const { taskId, uploadId, accountId } = await acceptedTask({})
    const result = await createRetry(25)(taskId)
    if (result.kind !== 'retried') throw new Error(result.kind)
    const { rows } = await database.pool.query(
      `select retry_of as "retryOf", status, credits, request, started_at as "startedAt",
         (select task_id from upload where upload_id = $2 and sweep_after = 'infinity') as "ownerId",
         (select count(*)::int from idempotency_key where task_id = $1) as keys
       from task where task_id = $1`,
      [result.taskId, uploadId],
    )
    expect(rows).toMatchObject([
      { retryOf: taskId, status: 'queued', credits: 25, startedAt: null, keys: 0 },
    ])
    expect(rows[0]).toMatchObject({ ownerId: result.taskId })
    expect(await balanceOf(database.pool, accountId)).toEqual({ available: 75, held: 25, spent: 0 })
    expect(await verifyLedger(database.pool)).toEqual([])
  })

  it('makes one task from eight concurrent retries and names it in all results', async () => {
    const { taskId, accountId } = await acceptedTask({ credits: 1_000 })
    const retry = createRetry(10)
    const results = await Promise.all(Array.from({ length: 8 }, () => retry(taskId)))
    const made = results.filter(({ kind }) => kind === 'retried')
    expect(made).toHaveLength(1)
    const others = results.filter(({ kind }) => kind !== 'retried')
    expect(others).toEqual(others.map(() => ({ ...made[0], kind: 'already_retried' })))
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 990, held: 10 })
  })

  it('turns a synchronous task into an asynchronous one', async () => {
    const { taskId } = await acceptedTask({ request: { route: 'images.edits' } })
    const result = await createRetry()(taskId)
    if (result.kind !== 'retried') throw new Error(result.kind)
    const { rows } = await database.pool.query<{ route: string; request: string }>(
      'select route, request from task where task_id = $1',
      [result.taskId],
    )
    expect(rows[0]?.route).toBe('images.tasks')
    expect(JSON.parse(rows[0]?.request ?? '')).toMatchObject({ route: 'images.tasks' })
  })

  it('changes nothing when the balance is too low', async () => {
    const { taskId, uploadId, accountId } = await acceptedTask({ credits: 20 })
    expect(await createRetry(25)(taskId)).toEqual({ kind: 'insufficient', credits: 25 })
    const { rows } = await database.pool.query(
      'select task_id as "taskId" from upload where upload_id = $1',
      [uploadId],
    )
    expect(rows).toEqual([{ taskId }])
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 20, held: 0 })
    expect((await createRetry(20)(taskId)).kind).toBe('retried')
  })

  it('refuses a task whose prompt is no longer kept', async () => {
    const { taskId, accountId } = await acceptedTask({})
    await database.pool.query('update task set retry_until = now() where task_id = $1', [taskId])
    expect(await forgetRequests(database.pool, 10)).toBe(1)
    expect(await createRetry()(taskId)).toEqual({ kind: 'inputs_gone' })
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 100, held: 0 })
  })

  it('refuses a task whose inputs are being swept', async () => {
    const { taskId, uploadId, accountId } = await acceptedTask({})
    await database.pool.query(`update upload set sweep_after = '-infinity' where upload_id = $1`, [
      uploadId,
    ])
    expect(await createRetry()(taskId)).toEqual({ kind: 'inputs_gone' })
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 100, held: 0 })
  })

  it('refuses a task that is not failed, and one that does not exist', async () => {
    const { taskId } = await acceptedTask({ live: true })
    expect(await createRetry()(taskId)).toEqual({ kind: 'not_failed', status: 'queued' })
    expect(await createRetry()(`task_${'0'.repeat(32)}`)).toEqual({ kind: 'unknown' })
    const purged = await acceptedTask({})
    await database.pool.query('update task set purge_at = now() where task_id = $1', [
      purged.taskId,
    ])
    expect(await createRetry()(purged.taskId)).toEqual({ kind: 'unknown' })
  })
})
