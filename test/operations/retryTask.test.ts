import { describe, expect, it } from 'vitest'
import { newUploadId } from '../../src/domain/ids.ts'
import type { ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { forgetRequests, openUpload } from '../../src/store/reconcile/uploads.ts'
import { failureText } from '../../src/operations/operation.ts'
import { retryTask } from '../../src/operations/tasks.ts'
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

/** Returns the function that retries a task at this price. */
function createRetry(credits = 25) {
  const terms = {
    prices: [{ model: 'familyb-image-2-vip', credits, creditsPerInputImage: 0 }],
    taskDeadlineMs: 60_000,
    channels: [],
  } as const
  const { pool } = database
  const deps = { pool, actor: 'cli:test@host', terms: () => terms } as const
  return (taskId: string) => retryTask(deps, taskId)
}

/** Retries a task and returns the id of the new one. */
async function retried(taskId: string, credits?: number): Promise<string> {
  const result = await createRetry(credits)(taskId)
  if (!result.ok) throw new Error(failureText(result.failure))
  return result.value.task_id
}

const unknown = `task_${'0'.repeat(32)}`

function notFound(taskId: string) {
  return { ok: false, failure: { kind: 'not_found', what: `task ${taskId}` } }
}

function refused(code: string, message: string) {
  const text: unknown = expect.stringContaining(message)
  return { ok: false, failure: { kind: 'refused', code, message: text } }
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
  const uploadId = newUploadId('input')
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
    const newTaskId = await retried(taskId, 25)
    const { rows } = await database.pool.query(
      `select retry_of as "retryOf", status, credits, request, started_at as "startedAt",
         (select task_id from upload where upload_id = $2 and sweep_after = 'infinity') as "ownerId",
         (select count(*)::int from idempotency_key where task_id = $1) as keys
       from task where task_id = $1`,
      [newTaskId, uploadId],
    )
    expect(rows).toMatchObject([
      { retryOf: taskId, status: 'queued', credits: 25, startedAt: null, keys: 0 },
    ])
    expect(rows[0]).toMatchObject({ ownerId: newTaskId })
    expect(await balanceOf(database.pool, accountId)).toEqual({ available: 75, held: 25, spent: 0 })
    expect(await verifyLedger(database.pool)).toEqual([])
  })

  it('makes one task from eight concurrent retries and names it in all results', async () => {
    const { taskId, accountId } = await acceptedTask({ credits: 1_000 })
    const retry = createRetry(10)
    const results = await Promise.all(Array.from({ length: 8 }, () => retry(taskId)))
    const made = results.flatMap((result) => (result.ok ? result.value.task_id : []))
    expect(made).toHaveLength(1)
    const others = results.filter(({ ok }) => !ok)
    expect(others).toEqual(others.map(() => refused('already_retried', made[0] ?? '')))
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 990, held: 10 })
  })

  it('turns a synchronous task into an asynchronous one', async () => {
    const { taskId } = await acceptedTask({ request: { route: 'images.edits' } })
    const newTaskId = await retried(taskId)
    const { rows } = await database.pool.query<{ route: string; request: string }>(
      'select route, request from task where task_id = $1',
      [newTaskId],
    )
    expect(rows[0]?.route).toBe('images.tasks')
    expect(JSON.parse(rows[0]?.request ?? '')).toMatchObject({ route: 'images.tasks' })
  })

  it('changes nothing when the balance is too low', async () => {
    const { taskId, uploadId, accountId } = await acceptedTask({ credits: 20 })
    expect(await createRetry(25)(taskId)).toEqual(refused('insufficient', 'costs 25 credits'))
    const { rows } = await database.pool.query(
      'select task_id as "taskId" from upload where upload_id = $1',
      [uploadId],
    )
    expect(rows).toEqual([{ taskId }])
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 20, held: 0 })
    await retried(taskId, 20)
  })

  it('refuses a task whose prompt is no longer kept, and one whose inputs are being swept', async () => {
    const forgotten = await acceptedTask({})
    const forget = 'update task set retry_until = now() where task_id = $1'
    await database.pool.query(forget, [forgotten.taskId])
    expect(await forgetRequests(database.pool, 10)).toBe(1)
    const swept = await acceptedTask({})
    const sweep = `update upload set sweep_after = '-infinity' where upload_id = $1`
    await database.pool.query(sweep, [swept.uploadId])
    for (const { taskId, accountId } of [forgotten, swept]) {
      expect(await createRetry()(taskId)).toEqual(refused('inputs_gone', 'no longer stored'))
      expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 100, held: 0 })
    }
  })

  it('refuses a task that is not failed, and one that does not exist', async () => {
    const { taskId } = await acceptedTask({ live: true })
    expect(await createRetry()(taskId)).toEqual(refused('not_failed', 'is queued'))
    expect(await createRetry()(unknown)).toEqual(notFound(unknown))
    const purged = await acceptedTask({})
    await database.pool.query('update task set purge_at = now() where task_id = $1', [
      purged.taskId,
    ])
    expect(await createRetry()(purged.taskId)).toEqual(notFound(purged.taskId))
  })
})
