import { describe, expect, it } from 'vitest'
import { readTaskDetail } from '../../src/store/tasks/readTaskDetail.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import { createTestAttempts, openAttempt, testMeta } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

/** A task with two calls, of which the second brings its image. */
async function succeededTask(): Promise<string> {
  const attempts = await createTestAttempts(database.pool)
  const { taskId } = await insertTask(database.pool)
  await openAttempt(attempts, taskId)
  const evidence = { reason: 'server_error', httpStatus: 502, latencyMs: 12 } as const
  await attempts.closeAttempt({ taskId, n: 1, class: 'unknown', evidence })
  const { answerId } = await openAttempt(attempts, taskId)
  const meta = { ...testMeta(taskId), attempt: 2 }
  await attempts.settleTask({ meta, answerId })
  return taskId
}

const called = { channel: 'b-main', worker: expect.any(String), via: 'workflow' }

describe('the timeline of a task', () => {
  it('has every event with its details, the cause before the effect', async () => {
    const taskId = await succeededTask()
    // The start is recorded after the first call has begun, and the image has expired since.
    await database.pool.query(
      `update task set started_at = now() + interval '1 minute', expires_at = now() where task_id = $1`,
      [taskId],
    )
    const timeline = (await readTaskDetail(database.pool, taskId))?.timeline ?? []
    const first = { reason: 'server_error', http_status: 502, latency_ms: 12 }
    expect(timeline.map(({ event, detail }) => [event, detail])).toEqual([
      ['accepted', { route: 'images.tasks' }],
      ['held', { credits: 10 }],
      ['started', {}],
      ['attempt_opened', { attempt: 1, ...called }],
      ['attempt_closed', { attempt: 1, channel: 'b-main', class: 'unknown', ...first }],
      ['attempt_opened', { attempt: 2, ...called }],
      ['stored', { attempt: 2 }],
      ['attempt_closed', { attempt: 2, channel: 'b-main', class: 'succeeded', reason: 'image' }],
      ['settled', { credits: 10 }],
      ['succeeded', { mime_type: 'image/png', bytes: expect.any(Number) }],
      ['expired', {}],
    ])
    const times = timeline.map(({ atMs }) => atMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times[2]).toBe(times[3])
  })

  it('dates the run by its own calls, and not by the calls before it', async () => {
    const attempts = await createTestAttempts(database.pool)
    const { taskId } = await insertTask(database.pool)
    await openAttempt(attempts, taskId, { via: 'direct' })
    const evidence = { reason: 'server_error', httpStatus: 502, latencyMs: 12 } as const
    await attempts.closeAttempt({ taskId, n: 1, class: 'unknown', evidence })
    await database.pool.query('update task set started_at = now() where task_id = $1', [taskId])
    await openAttempt(attempts, taskId)
    const timeline = (await readTaskDetail(database.pool, taskId))?.timeline ?? []
    expect(timeline.map(({ event }) => event)).toEqual([
      'accepted',
      'held',
      'attempt_opened',
      'attempt_closed',
      'started',
      'attempt_opened',
    ])
  })

  it('says of an image that is smaller than asked what was asked for and delivered, held and charged', async () => {
    const { pool } = database
    const attempts = await createTestAttempts(pool)
    const { taskId } = await insertTask(pool)
    await setTask(pool, taskId, {
      size: `'2048x2048'`,
      smaller_prices: `'[{"belowPixels": 2936013, "credits": 4}]'`,
    })
    const { answerId } = await openAttempt(attempts, taskId)
    const meta = testMeta(taskId, 1, { width: 1254, height: 1250 })
    await attempts.settleTask({ meta, answerId })
    const detail = await readTaskDetail(pool, taskId)
    expect(detail?.summary).toMatchObject({ credits: 10, charged: 4, delivered: '1254x1250' })
    const ends = detail?.timeline.slice(-3).map((one) => [one.event, one.detail])
    expect(ends).toEqual([
      ['settled', { credits: 4 }],
      [
        'refunded',
        {
          credits: 6,
          reason: 'smaller_than_asked',
          asked: '2048x2048',
          delivered: '1254x1250',
          held: 10,
          charged: 4,
        },
      ],
      ['succeeded', { mime_type: 'image/png', bytes: 3, pixels: '1254x1250' }],
    ])
  })
})
