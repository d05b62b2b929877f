import { describe, expect, it } from 'vitest'
import { createStartRuns } from '../../src/temporal/startRuns.ts'
import { testStart } from '../support/temporal/temporalWorld.ts'

function starting(mark: (taskId: string) => Promise<void> = async () => {}) {
  const answers: ((result: boolean) => void)[] = []
  const marked: string[] = []
  const left: string[] = []
  const unmarked: string[] = []
  const starts = createStartRuns({
    startTask: () => new Promise((resolve) => answers.push(resolve)),
    markStarted: async (taskId) => {
      await mark(taskId)
      marked.push(taskId)
    },
    onLeft: (taskId, reason) => void left.push(`${taskId} ${reason}`),
    onMarkFailed: (taskId) => void unmarked.push(taskId),
  })
  const answerAll = async (result: boolean) => {
    for (const answer of answers.splice(0)) answer(result)
    await starts.idle()
  }
  return { starts, answers, answerAll, marked, left, unmarked }
}

describe('the starts of an API process', () => {
  it('are at most 16 of one account and 32 in all; the rest is left to the reconciler', async () => {
    const { starts, answers, answerAll, left } = starting()
    for (let n = 0; n < 17; n += 1) starts.start({ ...testStart(), accountId: 'a' })
    expect([answers.length, left.length]).toEqual([16, 1])
    for (let n = 0; n < 17; n += 1) starts.start(testStart())
    starts.start({ ...testStart(), accountId: 'c' })
    expect([answers.length, starts.underWay()]).toEqual([32, 32])
    expect(left.every((line) => line.endsWith(' full'))).toBe(true)
    expect(left).toHaveLength(3)
    await answerAll(true)
    starts.start(testStart())
    expect(answers).toHaveLength(1)
    await answerAll(true)
  })

  it('are left to the reconciler when Temporal does not answer', async () => {
    const { starts, answerAll, marked, left } = starting()
    const start = testStart()
    starts.start(start)
    await answerAll(false)
    expect([left, marked]).toEqual([[`${start.taskId} failed`], []])
  })

  it('do not fail when the mark does', async () => {
    const { starts, answerAll, unmarked } = starting(() => Promise.reject(new Error('away')))
    const start = testStart()
    starts.start(start)
    await answerAll(true)
    expect(unmarked).toEqual([start.taskId])
  })
})
