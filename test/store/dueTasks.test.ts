import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createPool } from '../../src/store/connection/pool.ts'
import { claimForLine, claimToCheck, claimUnstarted } from '../../src/store/tasks/dueTasks.ts'
import { purgeTasks } from '../../src/store/tasks/purgeTasks.ts'
import { forgetRequests } from '../../src/store/tasks/keptRequests.ts'
import { takeUploads } from '../../src/store/uploads.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask, taskRow } from '../support/database/reconcileWorld.ts'
import { openAttempt } from '../support/database/testAttempts.ts'

const world = useAttemptWorld()
beforeEach(() => world.pool.query('delete from task; delete from upload'))

const due = { next_check_at: `now() - interval '1 second'` }

/** Settings with which PostgreSQL runs a subquery again for each row, as it may when a table seems empty. */
const worstPlan = [
  'plan_cache_mode=force_generic_plan',
  ...['hashjoin', 'mergejoin', 'material', 'hashagg', 'sort'].map((name) => `enable_${name}=off`),
]

/** The connection of a worker, with the worst plans. */
function openPool() {
  const options = worstPlan.map((setting) => `-c ${setting}`).join(' ')
  const pool = createPool({
    databaseUrl: `${world.databaseUrl}?options=${encodeURIComponent(options)}`,
    applicationName: 'claims',
    connectionsMax: 1,
    onConnectionError: () => {},
  })
  onTestFinished(() => pool.end())
  return pool
}

/** Inserts many due tasks of one account, copies of one. */
async function insertMany(count: number, columns: Readonly<Record<string, string>> = {}) {
  const { taskId, accountId } = await insertTask(world.pool)
  await setTask(world.pool, taskId, { ...due, ...columns })
  await world.pool.query(
    `insert into task (task_id, account_id, key_id, route, family, model, action, request, fingerprint, credits,
       deadline_at, hard_end_at, started_at, status, next_check_at, purge_at, completed_at, failure_code, retry_until)
     select 'task_' || lpad(n::text, 32, '0'), account_id, key_id, route, family, model, action, request, fingerprint,
       credits, deadline_at, hard_end_at, started_at, status, next_check_at, purge_at, completed_at, failure_code,
       retry_until
     from task, generate_series(2, $2) as n where task_id = $1`,
    [taskId, count],
  )
  return { taskId, accountId }
}

async function countWhere(condition: string, table = 'task'): Promise<number | undefined> {
  const { rows } = await world.pool.query<{ count: number }>(
    `select count(*)::int as count from ${table} where ${condition}`,
  )
  return rows[0]?.count
}

const ended = { status: `'failed'`, failure_code: `'upstream_error'`, completed_at: 'now()' }

describe('a claim of 100 of 10,000 due rows', () => {
  it('takes 100, also with the worst plan, and takes each once', async () => {
    const pool = openPool()
    await insertMany(10_000)
    const first = await claimUnstarted(pool, 'B', 100)
    expect(new Set(first.map(({ taskId }) => taskId)).size).toBe(100)
    expect(await countWhere('checks = 1 and next_check_at > now()')).toBe(100)
    const second = await claimUnstarted(pool, 'B', 100)
    const both = new Set([...first, ...second].map(({ taskId }) => taskId))
    expect(both.size).toBe(200)

    await world.pool.query('update task set started_at = now(), next_check_at = now(), checks = 0')
    expect(await claimToCheck(pool, 100)).toHaveLength(100)
    expect(await countWhere('checks = 1')).toBe(100)

    await world.pool.query('delete from task')
    await insertMany(10_000, { ...ended, retry_until: 'now()', purge_at: 'now()' })
    expect(await forgetRequests(pool, 100)).toBe(100)
    expect(await countWhere('request is null')).toBe(100)
    expect(await purgeTasks(pool, 100)).toBe(100)
    expect(await countWhere('true')).toBe(9_900)

    await world.pool.query(
      `insert into upload (upload_id, kind, sweep_after) select 'in' || n, 'input', now() from generate_series(1, 10000) n`,
    )
    expect(await takeUploads(pool, 100, 60_000)).toHaveLength(100)
    expect(await countWhere(`sweep_after = '-infinity'`, 'upload')).toBe(100)
  }, 30_000)

  it('gives no task to two of 20 workers that claim at once', async () => {
    await insertMany(3_000)
    const pools = Array.from({ length: 20 }, openPool)
    const claimed = await Promise.all(pools.map((pool) => claimUnstarted(pool, 'B', 100)))
    const ids = claimed.flat().map(({ taskId }) => taskId)
    expect(ids.length).toBeGreaterThanOrEqual(100)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('the claim of tasks without a run', () => {
  it('leaves out tasks of the other family, and tasks that are not due, started, called for, late or ended', async () => {
    const pool = openPool()
    const changes = [
      { family: `'A'` },
      { next_check_at: `now() + interval '5 seconds'` },
      { started_at: 'now()' },
      { deadline_at: 'now()' },
      ended,
    ]
    for (const columns of changes) {
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, { ...due, ...columns })
    }
    const called = await insertTask(world.pool)
    await openAttempt(world.attempts, called.taskId)
    await setTask(world.pool, called.taskId, due)
    expect(await claimUnstarted(pool, 'B', 10)).toEqual([])
    expect(await claimUnstarted(pool, 'A', 10)).toHaveLength(1)
  })
})

describe('the claim of tasks that stand in line', () => {
  it('hides no other task, and takes only synchronous ones without a run whose calls did no work', async () => {
    const pool = openPool()
    const sync = { ...due, route: `'images.edits'` }
    const waiting: string[] = []
    const others: string[] = []
    for (let n = 0; n < 3; n += 1) {
      const [one, other] = [await insertTask(world.pool), await insertTask(world.pool)]
      await setTask(world.pool, one.taskId, { ...sync, family: n === 0 ? `'A'` : `'B'` })
      await setTask(world.pool, other.taskId, n === 0 ? { ...sync, work_possible: 'true' } : due)
      waiting.push(one.taskId)
      others.push(other.taskId)
    }
    for (const columns of [{ started_at: 'now()' }, { deadline_at: 'now()' }, ended]) {
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, { ...sync, ...columns })
    }
    const called = await insertTask(world.pool, { route: 'images.edits' })
    await openAttempt(world.attempts, called.taskId)
    await setTask(world.pool, called.taskId, due)
    const ids = (claimed: readonly { readonly taskId: string }[]) =>
      claimed.map(({ taskId }) => taskId).toSorted()
    expect(ids(await claimUnstarted(pool, 'B', 3))).toEqual(others.toSorted())
    const [forLine, none] = [await claimForLine(pool, 10), await claimForLine(pool, 10)]
    expect(ids(forLine)).toEqual(waiting.toSorted())
    expect(forLine.map(({ sync: isSync }) => isSync)).toEqual([true, true, true])
    expect(none).toEqual([])
  })
})

describe('a claim plans the next check', () => {
  it('after a pause that doubles up to two minutes, or to ten seconds in line', async () => {
    const pool = openPool()
    const pausesOf = async (
      columns: Readonly<Record<string, string>>,
      claim: () => Promise<unknown>,
    ) => {
      const { taskId } = await insertTask(world.pool)
      await setTask(world.pool, taskId, columns)
      const pauses: number[] = []
      for (let check = 0; check < 8; check += 1) {
        await setTask(world.pool, taskId, { next_check_at: 'now()' })
        await claim()
        pauses.push(Math.ceil((await taskRow(world.pool, taskId))?.nextCheck ?? 0))
      }
      await world.pool.query('delete from task')
      return pauses
    }
    const unstarted = await pausesOf({ checks: '0' }, () => claimUnstarted(pool, 'B', 1))
    expect(unstarted).toEqual([2, 4, 8, 16, 32, 64, 120, 120])
    const started = await pausesOf({ started_at: 'now()' }, () => claimToCheck(pool, 1))
    expect(started).toEqual([15, 30, 60, 120, 120, 120, 120, 120])
    const inLine = await pausesOf({ route: `'images.edits'` }, () => claimForLine(pool, 1))
    expect(inLine).toEqual([2, 4, 8, 10, 10, 10, 10, 10])
  })

  it('no later than the deadline, and then the hard end', async () => {
    const pool = openPool()
    const { taskId } = await insertTask(world.pool, { deadlineSeconds: 5, hardEndSeconds: 30 })
    await setTask(world.pool, taskId, { ...due, started_at: 'now()', checks: '9' })
    await openAttempt(world.attempts, taskId)
    await setTask(world.pool, taskId, { ...due, checks: '9' })
    expect(await claimToCheck(pool, 1)).toMatchObject([{ callOpen: true, pastEnd: false }])
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeLessThanOrEqual(5)
    await setTask(world.pool, taskId, { ...due, deadline_at: 'now()' })
    expect(await claimToCheck(pool, 1)).toMatchObject([{ callOpen: true, pastEnd: false }])
    const beforeHardEnd = (await taskRow(world.pool, taskId))?.nextCheck ?? 0
    expect(beforeHardEnd).toBeGreaterThan(20)
    expect(beforeHardEnd).toBeLessThanOrEqual(30)
    await setTask(world.pool, taskId, { ...due, hard_end_at: 'now()' })
    expect(await claimToCheck(pool, 1)).toMatchObject([{ pastEnd: true, graceOver: false }])
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeGreaterThan(60)
  })
})
