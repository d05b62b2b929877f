import { describe, expect, it } from 'vitest'
import { createCancelTaskActivity } from '../../activities/createActivities.ts'

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
