import { describe, expect, it } from 'vitest'
import {
  createCancelTaskActivity,
  createRecordFailureActivity,
} from '../../activities/createActivities.ts'

const taskId = 'task_1'
const away = async () => {
  throw new Error('the password of the database')
}

describe('the activity cancelTask', () => {
  it.each([
    [true, false, true],
    [false, true, true],
    [false, false, false],
  ])('with cancelled now %s and cancelled before %s returns %s', async (now, before, answer) => {
    const cancelTask = createCancelTaskActivity({
      cancelTask: async () => now,
      isCancelled: async () => before,
      onUnexpected: () => {},
    })
    expect(await cancelTask({ taskId })).toBe(answer)
  })

  it('throws the kind of an outage without its text', async () => {
    const cancelTask = createCancelTaskActivity({
      cancelTask: away,
      isCancelled: async () => false,
      onUnexpected: () => {},
    })
    await expect(cancelTask({ taskId })).rejects.toMatchObject({
      message: 'unexpected failure: Error',
    })
  })
})

describe('the activity recordFailure', () => {
  it('waits while a call is under way, and reports no error', async () => {
    const reported: string[] = []
    const recordFailure = createRecordFailureActivity({
      settleOrFail: async () => 'call_under_way',
      onUnexpected: ({ activity }) => void reported.push(activity),
    })
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    await expect(recordFailure({ taskId, failure })).rejects.toMatchObject({
      type: 'Wait',
      nonRetryable: false,
      nextRetryDelay: 2_500,
    })
    expect(reported).toEqual([])
  })

  it('throws the kind of an outage and reports it', async () => {
    const reported: string[] = []
    const recordFailure = createRecordFailureActivity({
      settleOrFail: away,
      onUnexpected: ({ activity }) => void reported.push(activity),
    })
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    await expect(recordFailure({ taskId, failure })).rejects.toMatchObject({
      message: 'unexpected failure: Error',
      nonRetryable: false,
    })
    expect(reported).toEqual(['recordFailure'])
  })
})
