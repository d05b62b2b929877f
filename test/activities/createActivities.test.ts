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
    ['cancelled', true],
    ['call_under_way', false],
    ['work_possible', false],
    ['succeeded', false],
    ['failed', false],
    ['missing', false],
  ] as const)('asks for a cancel, and with the result %s returns %s', async (result, answer) => {
    const asked: unknown[] = []
    const cancelTask = createCancelTaskActivity({
      cancelTask: async (...given) => {
        asked.push(given)
        return result
      },
      onUnexpected: () => {},
    })
    expect(await cancelTask({ taskId })).toBe(answer)
    expect(asked).toEqual([[taskId, 'asked']])
  })

  it('throws the kind of an outage without its text', async () => {
    const cancelTask = createCancelTaskActivity({
      cancelTask: away,
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
