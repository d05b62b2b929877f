import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskView } from '../../../src/domain/tasks/task.ts'
import { progressOf, taskRecord } from '../../../src/domain/tasks/taskRecord.ts'

const createdAtMs = Date.UTC(2026, 10, 21, 10, 32, 7, 999)

const queued: TaskView = {
  taskId: `task_${'a'.repeat(32)}`,
  accountId: 'acct',
  route: 'images.tasks',
  model: 'familyb-image-2-vip',
  status: 'queued',
  credits: 7,
  createdAtMs,
  nowMs: createdAtMs + 500,
}
const processing: TaskView = { ...queued, status: 'processing', processingAtMs: createdAtMs + 900 }
const succeeded: TaskView = {
  ...processing,
  status: 'succeeded',
  completedAtMs: createdAtMs + 60_000,
  expiresAtMs: createdAtMs + 60_000 + 86_400_000,
  nowMs: createdAtMs + 61_000,
  asset: { answerId: 'an1', mimeType: 'image/png', bytes: 5, sha256: 'ab' },
}
const published = { url: 'https://example.test/image.png', native: { created: 1 } }

describe('a task record', () => {
  it('has only the five fields while the task is in flight [record-1]', () => {
    expect(taskRecord(queued, 60_000, published)).toEqual({
      task_id: queued.taskId,
      model: 'familyb-image-2-vip',
      status: 'queued',
      created_at: '2026-11-21T10:32:07Z',
      progress: 0,
    })
  })

  it('contains the same instant as the answer to the submit', () => {
    const { created_at } = taskRecord(queued, 60_000)
    expect(Date.parse(created_at) / 1000).toBe(Math.floor(createdAtMs / 1000))
  })

  it('shows asset and native result on success', () => {
    expect(taskRecord(succeeded, 60_000, published)).toEqual({
      task_id: queued.taskId,
      model: 'familyb-image-2-vip',
      status: 'succeeded',
      created_at: '2026-11-21T10:32:07Z',
      progress: 100,
      completed_at: '2026-11-21T10:33:07Z',
      output: { assets: [{ type: 'image', url: published.url, mime_type: 'image/png' }] },
      result: { created: 1 },
    })
  })

  it('is expired, without output, from the exact end of its retention', () => {
    const endMs = createdAtMs + 60_000 + 86_400_000
    expect(taskRecord({ ...succeeded, nowMs: endMs - 1 }, 1, published).status).toBe('succeeded')
    const expired = taskRecord({ ...succeeded, nowMs: endMs }, 1, published)
    expect(expired).toMatchObject({ status: 'expired', progress: 100 })
    expect(expired).not.toHaveProperty('output')
    expect(expired).not.toHaveProperty('result')
  })

  it('contains a fixed text for each failure code', () => {
    const failed: TaskView = {
      ...processing,
      status: 'failed',
      completedAtMs: createdAtMs + 2_000,
      failure: { code: 'upstream_error', cause: 'unknown', workPossible: true },
    }
    expect(taskRecord(failed, 60_000)).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_error', message: expect.stringMatching(/^The upstream model/) },
    })
  })
})

describe('progress', () => {
  it('never falls, in flight or at the end [record-3]', () => {
    const times = fc.array(fc.nat(10_000_000), { minLength: 2 })
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 600_000 }), (times, usualMs) => {
        const sorted = times.toSorted((a, b) => a - b)
        const at = (ms: number) => ({ ...processing, nowMs: createdAtMs + 900 + ms })
        const seen = sorted.map((ms) => progressOf(at(ms), usualMs))
        // The end's clock may lie before the last poll's.
        const failed = { ...at(0), status: 'failed' as const }
        const all = [progressOf(queued, usualMs), ...seen, progressOf(failed, usualMs)]
        expect(all).toEqual(all.toSorted((a, b) => a - b))
        expect(Math.max(...all)).toBeLessThanOrEqual(95)
      }),
    )
  })

  it('is about 80 percent after the usual duration', () => {
    const nowMs = createdAtMs + 900 + 60_000
    expect(progressOf({ ...processing, nowMs }, 60_000)).toBe(76)
  })
})
