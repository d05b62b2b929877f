import { beforeEach, describe, expect, it } from 'vitest'
import { beat, leave, markLost } from '../../src/store/attempts/workerProcesses.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { openAttempt, outcomesOf, testProcessId } from '../support/database/testAttempts.ts'

const world = useAttemptWorld()
beforeEach(() => world.pool.query('delete from attempt; delete from worker_process'))

async function sendBeat(processId: string, heldAnswerIds: readonly string[] = []) {
  const client = await world.pool.connect()
  try {
    return await beat(client, {
      processId,
      accepting: true,
      heldAnswerIds,
      lookBackSeconds: 60,
    })
  } finally {
    client.release()
  }
}

async function silence(processId: string, seconds: number): Promise<void> {
  await world.pool.query(
    `update worker_process set seen_at = now() - $2 * interval '1 second' where process_id = $1`,
    [processId, seconds],
  )
}

/** A task whose call is under way in the process of the test. */
async function calledTask() {
  const { taskId } = await insertTask(world.pool)
  return { taskId, ...(await openAttempt(world.attempts, taskId)) }
}

describe('a beat', () => {
  it('returns the other processes that are silent for ten seconds, also after the clock was set back', async () => {
    for (const name of ['fresh', 'silent', 'future']) await sendBeat(name)
    await silence('silent', 11)
    await silence('future', -60)
    const { silent } = await sendBeat('own')
    expect(silent.map(({ processId }) => processId).toSorted()).toEqual(['future', 'silent'])
    await silence('own', 60)
    expect((await sendBeat('own')).silent).toHaveLength(2)
  })

  it('returns own attempts that are open for ten seconds and that the process does not hold', async () => {
    await sendBeat(testProcessId)
    const [held, left, young] = [await calledTask(), await calledTask(), await calledTask()]
    await world.pool.query(
      `update attempt set opened_at = now() - interval '11 seconds' where task_id <> $1`,
      [young.taskId],
    )
    const { orphans } = await sendBeat(testProcessId, [held.answerId])
    expect(orphans).toEqual([{ taskId: left.taskId, n: 1, answerId: left.answerId }])
    expect((await sendBeat('another')).orphans).toEqual([])
  })
})

describe('a process that is marked as lost', () => {
  it('loses its calls at once: their tasks are due, and the next worker may call', async () => {
    await sendBeat(testProcessId)
    const { taskId } = await calledTask()
    await silence(testProcessId, 20)
    const [silent] = (await sendBeat('another')).silent
    if (silent === undefined) throw new Error('not silent')
    expect(await markLost(world.pool, silent)).toBe(true)
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeLessThanOrEqual(0)
    expect(await world.attempts.readTaskFacts(taskId)).toMatchObject({
      facts: { open: { lost: true } },
    })
    expect((await sendBeat('another')).silent).toEqual([])
  })

  it('has its attempts of ended tasks closed, so that they take no place on a channel', async () => {
    await sendBeat(testProcessId)
    const { taskId } = await calledTask()
    await setTask(world.pool, taskId, { hard_end_at: 'now()' })
    await world.attempts.failTask(
      taskId,
      {
        code: 'upstream_error',
        cause: 'unknown',
        workPossible: true,
      },
      1,
    )
    expect(await outcomesOf(world.pool, taskId)).toEqual(['open '])
    await silence(testProcessId, 20)
    for (const each of (await sendBeat('another')).silent) await markLost(world.pool, each)
    expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
  })
})

it('deletes the row of a process that leaves, but not while one of its attempts is open', async () => {
  await sendBeat(testProcessId)
  const { taskId } = await calledTask()
  await leave(world.pool, testProcessId)
  await world.attempts.closeAttempt({
    taskId,
    n: 1,
    class: 'rejected',
    evidence: { reason: 'no_image' },
  })
  await leave(world.pool, testProcessId)
  const { rowCount } = await world.pool.query('select from worker_process')
  expect(rowCount).toBe(0)
})
