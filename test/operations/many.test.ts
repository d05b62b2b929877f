import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { cancelTasks, retryTasks } from '../../src/operations/manyTasks.ts'
import { listWebhookDeliveries, redeliverFailed } from '../../src/operations/webhooks.ts'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { createTestAttempts, openAttempt } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { insertTestWebhook } from '../support/database/testWebhooks.ts'

const database = useTestDatabase()
let attempts: AttemptStore
beforeAll(async () => {
  attempts = await createTestAttempts(database.pool)
})

const terms = {
  prices: [{ model: 'familyb-image-2-vip', credits: 10, creditsPerInputImage: 0 }],
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
      randomBytes,
      lifetimes,
      terms: () => terms,
      endRuns: async (taskIds: readonly string[]) => void ended.push(...taskIds),
    } as const,
  }
}

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

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

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
    await database.pool.query(
      'update balance set available = 15, deposited = 15 where account_id = $1',
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
    expect(await redeliverFailed(deps, some)).toEqual({
      ok: true,
      value: { redelivered: newest, refused: [] },
    })
    const again = await redeliverFailed(deps, some)
    expect(again).toMatchObject({ value: { redelivered: [expect.any(String)] } })
    expect(await redeliverFailed(deps, some)).toMatchObject({ value: { redelivered: [] } })
  })
})
