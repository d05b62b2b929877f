import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/domain/accounts/account.ts'
import { builtInCapabilities } from '../../src/domain/models/capabilities.ts'
import { priceList } from '../../src/domain/models/prices.ts'
import type { AnswerMeta } from '../../src/domain/upstream/answerMeta.ts'
import { createTaskEnds } from '../../src/store/tasks/taskEnds.ts'
import { createTaskService } from '../../src/tasks/taskService.ts'
import { createTaskStore } from '../../src/store/tasks/taskStore.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { openAttempt, createTestAttempts } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

function metaOf(taskId: string): AnswerMeta {
  const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab' } as const
  const response = { created: 5, data: [{ b64_json: '' }], note: '\u0000 \ud800' }
  const native = { response, imagePath: ['data', 0, 'b64_json'] }
  return { version: 1, taskId, attempt: 1, image, native }
}

const endedRuns: string[] = []

async function createService() {
  const { pool } = database
  return createTaskService({
    store: createTaskStore(pool),
    cancelTask: (await createTestAttempts(pool)).cancelTask,
    endRun: (taskId) => endedRuns.push(taskId),
    cancelLeft: () => {},
    ends: createTaskEnds({ pool, hear: () => {}, onError: () => {} }),
    peppers: [],
    runStage: () => Promise.resolve(undefined),
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
  const { answerId } = await openAttempt(attempts, task.taskId)
  const meta = metaOf(task.taskId)
  await attempts.settleTask({ meta, answerId })
  return { ...task, meta, answerId }
}

const callerOf = (accountId: string): Caller => ({ accountId, keyId: 'key_test' })

describe('read', () => {
  it('shows the asset and the native response of a succeeded task', async () => {
    const { taskId, accountId, meta, answerId } = await succeededTask()
    const service = await createService()
    const read = await service.read(callerOf(accountId), taskId)
    if (!read.ok) throw new Error(read.failure.tag)
    expect(read.value).toMatchObject({
      status: 'succeeded',
      asset: { answerId, mimeType: 'image/png', bytes: 3, sha256: 'ab' },
    })
    expect((read.value.expiresAtMs ?? 0) - (read.value.completedAtMs ?? 0)).toBe(86_400_000)
    expect(read.value.native).toEqual(meta.native)
  })
})

describe('uploads', () => {
  it('are swept after a day, and at once when discarded', async () => {
    const service = await createService()
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
