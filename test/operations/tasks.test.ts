import { beforeAll, describe, expect, it } from 'vitest'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import { newUploadId } from '../../src/domain/ids.ts'
import type { ImageRequest } from '../../src/domain/tasks/imageRequest.ts'
import { cancelTasks, retryTasks } from '../../src/operations/manyTasks.ts'
import { failureText } from '../../src/operations/operation.ts'
import { retryTask } from '../../src/operations/tasks.ts'
import { listWebhookDeliveries, redeliverFailed } from '../../src/operations/webhooks.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import { forgetRequests } from '../../src/store/tasks/keptRequests.ts'
import { openUpload } from '../../src/store/uploads.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import {
  createTestAccept,
  createTestCaller,
  generateRequest,
} from '../support/database/testAccept.ts'
import { createTestAttempts, openAttempt } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { insertTestWebhook } from '../support/database/testWebhooks.ts'

const database = useTestDatabase()
let attempts: AttemptStore
beforeAll(async () => {
  attempts = await createTestAttempts(database.pool)
})

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
const terms = {
  models: createModelTable({
    prices: [{ model: 'familyb-image-2-vip', credits: 25, creditsPerInputImage: 0 }],
  }),
  taskDeadlineMs: 60_000,
  channels: [],
} as const

const lifetimes = { retentionSeconds: 60, tombstoneSeconds: 60, inputRetentionSeconds: 60 }

/** What operations work with, and the runs that they asked to end. */
function world() {
  const ended: string[] = []
  return {
    ended,
    deps: {
      pool: database.pool,
      actor: 'admin:test',
      lifetimes,
      terms: () => terms,
      endRuns: async (taskIds: readonly string[]) => void ended.push(...taskIds),
    } as const,
  }
}

/** Retries a task at a price of 25 credits. */
function retry(taskId: string) {
  return retryTask(world().deps, taskId)
}

/** Retries a task and returns the id of the new one. */
async function retried(taskId: string): Promise<string> {
  const result = await retry(taskId)
  if (!result.ok) throw new Error(failureText(result.failure))
  return result.value.task_id
}

/** A failed task of 10 credits with its own upload. */
async function failedTask(given: Partial<ImageRequest> = {}) {
  const { pool } = database
  const caller = await createTestCaller(pool, 100)
  const { accept } = createTestAccept(pool, {
    prices: [{ model: 'familyb-image-2-vip', credits: 10, creditsPerInputImage: 0 }],
  })
  const uploadId = newUploadId('input')
  await openUpload(pool, uploadId, 60_000)
  const input = { blobKey: `${uploadId}/0`, mimeType: 'image/png', bytes: 1, sha256: '00' } as const
  const request = generateRequest({ action: 'edit', inputs: [input], ...given })
  const idempotencyKey = Buffer.from(uploadId)
  const answer = await accept({ caller, request, uploadId, idempotencyKey })
  if (!answer.ok) throw new Error(answer.failure.tag)
  const { taskId } = answer.value
  await attempts.failTask(taskId, failure, 0)
  return { taskId, uploadId, accountId: caller.accountId }
}

// Which task can be retried, and what moves then, is in transitionsModel.test.ts: one after the other and at once.

describe('task retry', () => {
  it("makes a linked new task with today's price and the same inputs", async () => {
    const { taskId, uploadId, accountId } = await failedTask()
    const newTaskId = await retried(taskId)
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

  it('turns a synchronous task into an asynchronous one', async () => {
    const { taskId } = await failedTask({ route: 'images.edits' })
    const newTaskId = await retried(taskId)
    const { rows } = await database.pool.query<{ route: string; request: string }>(
      'select route, request from task where task_id = $1',
      [newTaskId],
    )
    expect(rows[0]?.route).toBe('images.tasks')
    expect(JSON.parse(rows[0]?.request ?? '')).toMatchObject({ route: 'images.tasks' })
  })

  it('refuses a task whose prompt is no longer kept, and one whose inputs are being swept', async () => {
    const forgotten = await failedTask()
    const forget = 'update task set retry_until = now() where task_id = $1'
    await database.pool.query(forget, [forgotten.taskId])
    expect(await forgetRequests(database.pool, 10)).toBe(1)
    const swept = await failedTask()
    const sweep = `update upload set sweep_after = '-infinity' where upload_id = $1`
    await database.pool.query(sweep, [swept.uploadId])
    for (const { taskId, accountId } of [forgotten, swept]) {
      expect(await retry(taskId)).toMatchObject({ failure: { code: 'inputs_gone' } })
      expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 100, held: 0 })
    }
  })
})

/** The tasks of a new account, newest first. */
async function insertTasks(count: number) {
  const first = await insertTask(database.pool)
  const { accountId } = first
  const taskIds = [first.taskId]
  while (taskIds.length < count) {
    taskIds.unshift((await insertTask(database.pool, { accountId })).taskId)
  }
  return { accountId, taskIds }
}

describe('many', () => {
  it('tasks are retried at most once, those that can be [many-1]', async () => {
    const { deps } = world()
    const { accountId, taskIds } = await insertTasks(3)
    for (const taskId of taskIds) await attempts.failTask(taskId, failure, 0)
    const some = { filter: { account: accountId }, limit: 2, dryRun: false }
    const newest = taskIds.slice(0, 2)
    expect(await retryTasks(deps, { ...some, dryRun: true })).toEqual({
      ok: true,
      value: { would_retry: newest },
    })
    const one = { ...some, filter: { account: accountId, taskIds: taskIds.slice(2) }, dryRun: true }
    expect(await retryTasks(deps, one)).toMatchObject({ value: { would_retry: taskIds.slice(2) } })
    await database.pool.query(
      'update balance set available = 30, deposited = 30 where account_id = $1',
      [accountId],
    )
    expect(await retryTasks(deps, some)).toMatchObject({
      value: {
        retried: [{ retry_of: newest[0] }],
        refused: [{ task_id: newest[1], reason: 'insufficient' }],
      },
    })
    const again = await retryTasks(deps, { ...some, dryRun: true })
    expect(again).toMatchObject({ value: { would_retry: taskIds.slice(1) } })
    await database.pool.query('update task set request = null where task_id = $1', [taskIds[1]])
    const kept = await retryTasks(deps, { ...some, dryRun: true })
    expect(kept).toMatchObject({ value: { would_retry: taskIds.slice(2) } })
  })

  it('live tasks are cancelled, except those with a call under way [many-1]', async () => {
    const { deps, ended } = world()
    const { accountId, taskIds } = await insertTasks(3)
    const [calling = '', ...queued] = taskIds
    await openAttempt(attempts, calling)
    const all = { filter: { account: accountId }, limit: 100, dryRun: false }
    expect(await cancelTasks(deps, { ...all, dryRun: true })).toMatchObject({
      value: { would_cancel: [...queued, calling] },
    })
    const waiting = { ...all, filter: { ...all.filter, status: 'processing' } } as const
    expect(await cancelTasks(deps, { ...waiting, dryRun: true })).toMatchObject({
      value: { would_cancel: [calling] },
    })
    expect(await cancelTasks(deps, all)).toMatchObject({
      value: { cancelled: queued, refused: [{ task_id: calling, reason: 'call_under_way' }] },
    })
    expect(ended).toEqual(queued)
    expect(await cancelTasks(deps, all)).toMatchObject({
      value: { cancelled: [], refused: [{ task_id: calling }] },
    })
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ held: 10 })
    expect(await cancelTasks(deps, { ...all, filter: { account: 'nobody' } })).toMatchObject({
      failure: { kind: 'not_found' },
    })
  })

  it('a task that begins between two reads is named once [many-1]', async () => {
    const { pool } = database
    const { accountId, taskIds } = await insertTasks(2)
    const [begins = ''] = taskIds
    let reads = 0
    const readThenBegin = async (text: string, values: unknown[]) => {
      const queued = await pool.query(text, values)
      await openAttempt(attempts, begins)
      return queued
    }
    const get = (target: typeof pool, name: string | symbol): unknown =>
      name === 'query' && reads++ === 0 ? readThenBegin : Reflect.get(target, name)
    const deps = { ...world().deps, pool: new Proxy(pool, { get }) }
    const all = { filter: { account: accountId }, limit: 100, dryRun: true }
    expect(await cancelTasks(deps, all)).toEqual({ ok: true, value: { would_cancel: taskIds } })
  })

  it('failed deliveries of a webhook are made again [many-1]', async () => {
    const { deps } = world()
    const { accountId, taskIds } = await insertTasks(3)
    const webhookId = await insertTestWebhook(database.pool, accountId)
    for (const taskId of taskIds) await attempts.failTask(taskId, failure, 0)
    await database.pool.query(
      `update webhook_delivery set status = 'failed', next_attempt_at = null where webhook_id = $1`,
      [webhookId],
    )
    const some = { webhookId, limit: 2, dryRun: false }
    const listed = await listWebhookDeliveries(deps, { webhookId, limit: 2 })
    if (!listed.ok) throw new Error('not listed')
    const newest = listed.value.data.map(({ delivery_id }) => delivery_id)
    expect(await redeliverFailed(deps, { ...some, dryRun: true })).toMatchObject({
      value: { would_redeliver: newest },
    })
    const only = newest.slice(1)
    expect(
      await redeliverFailed(deps, { ...some, deliveryIds: only, limit: 1, dryRun: true }),
    ).toMatchObject({
      value: { would_redeliver: only },
    })
    expect(await redeliverFailed(deps, some)).toEqual({
      ok: true,
      value: { redelivered: newest, refused: [] },
    })
    const again = await redeliverFailed(deps, some)
    expect(again).toMatchObject({ value: { redelivered: [expect.any(String)] } })
    expect(await redeliverFailed(deps, some)).toMatchObject({ value: { redelivered: [] } })
  })
})
