import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskView } from '../../../src/domain/tasks/task.ts'
import { progressOf } from '../../../src/domain/tasks/taskRecord.ts'

const createdAtMs = Date.UTC(2026, 10, 21, 10, 32, 7, 999)

const queued: TaskView = {
  taskId: `task_${'a'.repeat(32)}`,
  accountId: 'acct',
  route: 'images.tasks',
  family: 'B',
  model: 'familyb-image-2-vip',
  status: 'queued',
  credits: 7,
  createdAtMs,
  nowMs: createdAtMs + 500,
}
const processing: TaskView = { ...queued, status: 'processing', processingAtMs: createdAtMs + 900 }

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
})
