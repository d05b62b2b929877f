import { describe, expect, it } from 'vitest'
import { createStartRuns } from '../../src/tasks/produce/startRuns.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { taskRow } from '../support/database/reconcileWorld.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { quiet } from '../support/quiet.ts'
import { testStart } from '../support/temporal/temporalWorld.ts'

const database = useTestDatabase()

function starting() {
  const answers: ((result: boolean) => void)[] = []
  const left: string[] = []
  const starts = createStartRuns({
    ...quiet,
    pool: database.pool,
    metrics: { ...quiet.metrics, startLeft: (reason) => left.push(reason) },
    startTask: () => new Promise((resolve) => answers.push(resolve)),
  })
  const answerAll = async (result: boolean) => {
    for (const answer of answers.splice(0)) answer(result)
    await starts.idle()
  }
  return { starts, answers, answerAll, left }
}

describe('the starts of an API process', () => {
  it('are at most 16 of one account and 32 in all; the rest is left to the reconciler', async () => {
    const { starts, answers, answerAll, left } = starting()
    for (let n = 0; n < 17; n += 1) starts.start({ ...testStart(), accountId: 'a' })
    expect([answers.length, left.length]).toEqual([16, 1])
    for (let n = 0; n < 17; n += 1) starts.start(testStart())
    starts.start({ ...testStart(), accountId: 'c' })
    expect([answers.length, starts.underWay()]).toEqual([32, 32])
    expect(left).toEqual(['full', 'full', 'full'])
    await answerAll(true)
    starts.start(testStart())
    expect(answers).toHaveLength(1)
    await answerAll(true)
  })

  it.each([true, false])('are marked only when Temporal has the run: %s', async (answer) => {
    const { starts, answerAll, left } = starting()
    const { taskId } = await insertTask(database.pool)
    starts.start({ ...testStart(), taskId })
    await answerAll(answer)
    expect(left).toEqual(answer ? [] : ['failed'])
    expect(await taskRow(database.pool, taskId)).toMatchObject({ started: answer })
  })
})
