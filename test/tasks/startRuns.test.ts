import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createStartRuns } from '../../src/tasks/produce/startRuns.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { taskRow } from '../support/database/reconcileWorld.ts'
import { createTestAttempts, openAttempt } from '../support/database/testAttempts.ts'
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

  it('are marked by one statement, but for those whose call has begun', async () => {
    const { starts, answerAll } = starting()
    const tasks = await Promise.all([1, 2, 3].map(() => insertTask(database.pool)))
    const [called, directly, waiting] = tasks.map(({ taskId }) => taskId)
    if (called === undefined || directly === undefined || waiting === undefined)
      throw new Error('three tasks')
    const attempts = await createTestAttempts(database.pool)
    for (const { taskId } of tasks) starts.start({ ...testStart(), taskId })
    await openAttempt(attempts, called)
    await openAttempt(attempts, directly, { via: 'direct' })
    const startedOf = async (taskId: string) => (await taskRow(database.pool, taskId))?.started
    expect(await Promise.all([called, directly, waiting].map(startedOf))).toEqual([
      true,
      false,
      false,
    ])
    const { rows } = await database.pool.query('select xmin from task where task_id = $1', [called])
    const query = vi.spyOn(database.pool, 'query')
    onTestFinished(() => query.mockRestore())
    await answerAll(true)
    expect(query).toHaveBeenCalledOnce()
    expect(await Promise.all([called, directly, waiting].map(startedOf))).toEqual([
      true,
      true,
      true,
    ])
    const again = await database.pool.query('select xmin from task where task_id = $1', [called])
    expect(again.rows).toEqual(rows)
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
