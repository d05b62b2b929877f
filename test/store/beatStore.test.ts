import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { LostCall } from '../../src/store/attempts/beatStore.ts'
import { createBeatStore, lostCalls } from '../../src/store/attempts/beatStore.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { endLease, taskRow } from '../support/database/reconcileWorld.ts'
import {
  openAttempt,
  outcomesOf,
  testChannel,
  testMeta,
  testProcessId,
} from '../support/database/testAttempts.ts'

const channel = testChannel({ concurrencyMax: 200 })
const world = useAttemptWorld([channel])
beforeEach(() => world.pool.query('delete from attempt; delete from worker_process'))

function processOf(processId: string) {
  const store = createBeatStore({ processId, sessionUrl: world.databaseUrl })
  onTestFinished(store.close)
  const loseCall = (call: LostCall) => world.attempts.loseAttempt({ ...call, witness: processId })
  const findLost = (limit: number) => lostCalls(world.pool, processId, limit)
  return { ...store, findLost, loseCall }
}

/** Sets when the process has sent its last beat, and since when it is steady, in seconds before now. */
async function setBeat(processId: string, lastBeat: number, steady = lastBeat): Promise<void> {
  await world.pool.query(
    `insert into worker_process (process_id, seen_at, steady_since)
     values ($1, now() - $2 * interval '1 second', now() - $3 * interval '1 second')
     on conflict (process_id) do update set seen_at = excluded.seen_at, steady_since = excluded.steady_since`,
    [processId, lastBeat, steady],
  )
}

/** A process that has been steady for a minute. */
async function witness() {
  await setBeat('witness', 0, 60)
  return processOf('witness')
}

/** A task whose call is under way in the process of the test. */
async function calledTask() {
  const { taskId } = await insertTask(world.pool)
  await setBeat(testProcessId, 0)
  return { taskId, ...(await openAttempt(world.attempts, taskId, { channel })) }
}

describe('a call is lost', () => {
  it('when its process has been silent for 15 seconds, and its task is due at once', async () => {
    const { taskId, n } = await calledTask()
    const { findLost, loseCall } = await witness()
    await setBeat(testProcessId, 14)
    expect(await findLost(10)).toEqual([])
    expect(await loseCall({ taskId, n })).toBe(false)
    await setBeat(testProcessId, 15.1)
    expect(await findLost(10)).toEqual([{ taskId, n }])
    expect(await loseCall({ taskId, n })).toBe(true)
    expect(await outcomesOf(world.pool, taskId)).toEqual(['unknown worker_lost'])
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeLessThanOrEqual(0)
    expect(await loseCall({ taskId, n })).toBe(false)
  })

  it('when its process has no row, or its lease is over', async () => {
    const [gone, late] = [await calledTask(), await calledTask()]
    const { findLost, loseCall } = await witness()
    await world.pool.query(`update attempt set process_id = 'gone' where task_id = $1`, [
      gone.taskId,
    ])
    await setBeat(testProcessId, 0)
    await endLease(world.pool, late.taskId)
    const lost = await findLost(10)
    expect(lost.map(({ taskId }) => taskId).toSorted()).toEqual(
      [gone.taskId, late.taskId].toSorted(),
    )
    expect(await findLost(1)).toHaveLength(1)
    for (const call of lost) expect(await loseCall(call)).toBe(true)
  })
})

describe('nobody says that a call is lost', () => {
  it.each([
    ['who was silent three seconds ago', 3.1, 60],
    ['whose beats had a gap in the last 15 seconds, as after an outage of PostgreSQL', 0, 14],
  ])('%s', async (_who, lastBeat, steady) => {
    const { taskId, n } = await calledTask()
    const { findLost, loseCall } = processOf('witness')
    await setBeat(testProcessId, 60)
    await setBeat('witness', lastBeat, steady)
    expect(await findLost(10)).toEqual([])
    expect(await loseCall({ taskId, n })).toBe(false)
    expect(await outcomesOf(world.pool, taskId)).toEqual(['open '])
  })

  it('while a statement of its worker has locked the task: the worker may have come back', async () => {
    const { taskId, n } = await calledTask()
    const { loseCall } = await witness()
    await setBeat(testProcessId, 60)
    const worker = await world.pool.connect()
    await worker.query('begin')
    await worker.query('select from task where task_id = $1 for update', [taskId])
    expect(await loseCall({ taskId, n })).toBe(false)
    await worker.query('commit')
    worker.release()
    expect(await loseCall({ taskId, n })).toBe(true)
  })
})

it('100 calls are lost beside 100 settlements without a deadlock, and by one witness each', async () => {
  const calls: Awaited<ReturnType<typeof calledTask>>[] = []
  for (let count = 0; count < 100; count += 1) calls.push(await calledTask())
  await setBeat(testProcessId, 60)
  const first = await witness()
  await setBeat('second', 0, 60)
  const second = processOf('second')
  const settle = ({ taskId, answerId }: (typeof calls)[number]) =>
    world.attempts.settleTask({ meta: testMeta(taskId), answerId })
  const all = await Promise.all(
    calls.map((call) => Promise.all([first.loseCall(call), second.loseCall(call), settle(call)])),
  )
  expect(all.filter(([one, other]) => one && other)).toEqual([])
  expect(all.map(([, , settled]) => settled)).toEqual(Array(100).fill(true))
  const { rowCount } = await world.pool.query('select from attempt where closed_at is null')
  expect(rowCount).toBe(0)
})

describe('a beat', () => {
  const rowOf = async (processId: string) => {
    const { rows } = await world.pool.query<{ silent: number; steady: number }>(
      `select extract(epoch from clock_timestamp() - seen_at)::float8 as silent,
         extract(epoch from clock_timestamp() - steady_since)::float8 as steady
       from worker_process where process_id = $1`,
      [processId],
    )
    return rows[0] ?? { silent: Infinity, steady: Infinity }
  }

  it('keeps a process steady, unless the last one is more than three seconds ago', async () => {
    const { beat } = processOf('own')
    await beat()
    expect((await rowOf('own')).steady).toBeLessThan(1)
    await setBeat('own', 2.5, 60)
    await beat()
    const kept = await rowOf('own')
    expect(kept.silent).toBeLessThan(1)
    expect(kept.steady).toBeGreaterThan(59)
    await setBeat('own', 3.1, 60)
    await beat()
    expect((await rowOf('own')).steady).toBeLessThan(1)
  })

  it('forgets processes that have been silent for an hour, and a process that leaves', async () => {
    await setBeat('old', 3_700)
    await setBeat('silent', 3_500)
    const { beat, leave } = processOf('own')
    await beat()
    const names = async () => {
      const { rows } = await world.pool.query<{ id: string }>(
        'select process_id as id from worker_process order by 1',
      )
      return rows.map(({ id }) => id)
    }
    expect(await names()).toEqual(['own', 'silent'])
    await leave()
    expect(await names()).toEqual(['silent'])
  })

  it('does not wait for the pool', async () => {
    const { beat } = processOf('own')
    const taken = await Promise.all(Array.from({ length: 20 }, () => world.pool.connect()))
    const late = sleep(2_000, 'late', { ref: false })
    expect(await Promise.race([beat(), late])).toBeUndefined()
    for (const client of taken) client.release()
  })
})
