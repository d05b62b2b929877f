import { describe, expect, it } from 'vitest'
import { isEventDue, parseEventId, taskEventId } from '../../../src/domain/tasks/taskEvents.ts'

const usualDurationMs = 10_000
const queued = { status: 'queued', nowMs: 5_000 } as const
const processing = (elapsedMs: number) =>
  ({ status: 'processing', nowMs: 5_000 + elapsedMs, processingAtMs: 5_000 }) as const
const idAt = (elapsedMs: number) => taskEventId(processing(elapsedMs), usualDurationMs)

describe('the events of a task', () => {
  it('have ids that follow from status and progress, and only grow [events-3]', () => {
    expect(taskEventId(queued, usualDurationMs)).toBe(0)
    expect(idAt(0)).toBe(2)
    expect(idAt(10_000)).toBe(77)
    expect(idAt(10_000_000)).toBe(96)
    for (const status of ['succeeded', 'failed'] as const) {
      expect(taskEventId({ status, nowMs: 6_000, processingAtMs: 5_000 }, usualDurationMs)).toBe(
        1_000,
      )
    }
  })

  it.each([
    [undefined, 0, true],
    [undefined, 41, true],
    [0, 0, false],
    [0, 2, true],
    [40, 44, false],
    [40, 45, true],
    [40, 40, false],
    [50, 40, false],
    [96, 1_000, true],
    [0, 1_000, true],
    [1_000, 1_000, false],
  ])('after %s the event %i is due: %s', (lastId, id, due) => {
    expect(isEventDue(lastId, id)).toBe(due)
  })

  it.each(['', '-1', '97', '999', '1001', '1\n'])('cannot have the id %j', (text) => {
    expect(parseEventId(text)).toBeUndefined()
    expect(parseEventId('0041')).toBe(41)
  })
})
