import { describe, expect, it } from 'vitest'
import type { OpenResult } from '../../src/store/attempts/openAttempt.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask, taskRow } from '../support/database/reconcileWorld.ts'
import {
  askToOpen,
  createTestAttempts,
  openAttempt,
  outcomesOf,
  testChannel,
  testMeta,
} from '../support/database/testAttempts.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const world = useAttemptWorld()

const unknown = { class: 'unknown', evidence: { reason: 'server_error', httpStatus: 500 } } as const
const refused = { class: 'refused', evidence: { reason: 'rate_limited' } } as const

async function rowOf(taskId: string) {
  const { rows } = await world.pool.query(
    `select status, attempts, open_attempt as open, work_possible as "workPossible" from task where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

/** Inserts a channel that only one test uses. */
async function ownChannel(name: string, concurrencyMax = 50) {
  const channel = testChannel({ name, concurrencyMax })
  const attempts = await createTestAttempts(world.pool, [channel])
  return { channel, attempts }
}

describe('an attempt', () => {
  it('is opened once, by the first of several workers, and sets the task processing', async () => {
    const { taskId } = await insertTask(world.pool)
    const asked = [1, 2, 3, 4].map(() => askToOpen(world.attempts, taskId, { n: 1 }))
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual(['changed', 'changed', 'changed', 'opened'])
    expect(await rowOf(taskId)).toEqual({
      status: 'processing',
      attempts: 1,
      open: 1,
      workPossible: false,
    })
  })

  it('carries the request, the limits of its call and the key for the upstream', async () => {
    const { taskId } = await insertTask(world.pool, { prompt: 'a lighthouse' })
    const attempt = await openAttempt(world.attempts, taskId)
    expect(attempt).toMatchObject({
      n: 1,
      upstreamKey: `${taskId}-1`,
      timeoutMs: 5_000,
      request: { body: { prompt: 'a lighthouse' } },
    })
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeCloseTo(35, 0)
  })

  it('is answered again when the reply was lost, and is not opened twice', async () => {
    const { taskId } = await insertTask(world.pool)
    const question = { n: 1, answerId: 'an-of-a-lost-reply' }
    const asked = [1, 2, 3].map(() => askToOpen(world.attempts, taskId, question))
    const first = (await Promise.all(asked)).map(({ kind }) => kind)
    expect(first).toEqual(['opened', 'opened', 'opened'])
    expect(await outcomesOf(world.pool, taskId)).toEqual(['open '])
    await world.attempts.closeAttempt({ taskId, n: 1, ...unknown })
    expect(await askToOpen(world.attempts, taskId, question)).toEqual({ kind: 'changed' })
  })

  it('keeps the upstream key after an unknown outcome, and gets a new one after a refusal', async () => {
    const { attempts, channel } = await ownChannel('keys')
    const keysOf = async (...outcomes: readonly (typeof unknown | typeof refused)[]) => {
      const { taskId } = await insertTask(world.pool)
      const keys: string[] = []
      for (const outcome of outcomes) {
        const { n, upstreamKey } = await openAttempt(attempts, taskId, { channel })
        keys.push(upstreamKey.slice(taskId.length))
        await attempts.closeAttempt({ taskId, n, ...outcome })
        await world.pool.query(`delete from cooldown where channel = 'keys'`)
      }
      return keys
    }
    expect(await keysOf(unknown, refused, unknown)).toEqual(['-1', '-1', '-1'])
    expect(await keysOf(refused, unknown, refused)).toEqual(['-1', '-2', '-2'])
  })
})

describe('no attempt is opened', () => {
  it.each([
    ['that has ended', { completed_at: 'now()', status: `'failed'`, failure_code: `'x'` }, 'over'],
    ['past its deadline', { deadline_at: 'now()' }, 'changed'],
  ] as const)('for a task %s', async (_when, columns, kind) => {
    const { taskId } = await insertTask(world.pool)
    await setTask(world.pool, taskId, columns)
    expect(await askToOpen(world.attempts, taskId, { n: 1 })).toEqual({ kind })
    expect(await outcomesOf(world.pool, taskId)).toEqual([])
  })

  it('for an unknown task, or one that had another number of attempts, or has one open', async () => {
    const { taskId } = await insertTask(world.pool)
    expect(await askToOpen(world.attempts, `task_${'0'.repeat(32)}`)).toEqual({ kind: 'over' })
    expect(await askToOpen(world.attempts, taskId, { n: 2 })).toEqual({ kind: 'changed' })
    await openAttempt(world.attempts, taskId)
    expect(await askToOpen(world.attempts, taskId)).toEqual({ kind: 'changed' })
  })

  it('by a process whose last beat is eight seconds old, also when it was younger before a wait for a lock', async () => {
    const { channel, attempts } = await ownChannel('locked')
    const beat = async (processId: string, seconds: number) =>
      world.pool.query(
        `insert into worker_process (process_id, seen_at)
         values ($1, now() - $2 * interval '1 second')`,
        [processId, seconds],
      )
    await beat('silent', 8)
    await beat('silent soon', 7)
    const { taskId } = await insertTask(world.pool)
    const ask = (processId: string) => askToOpen(attempts, taskId, { channel, processId })
    expect(await ask('silent')).toEqual({ kind: 'not_present' })
    expect(await ask('no process')).toEqual({ kind: 'not_present' })

    const holder = await world.pool.connect()
    await holder.query('begin')
    await holder.query(`select from channel where name = 'locked' for update`)
    const waiting = ask('silent soon')
    await untilLockAwaited(world.pool)
    await holder.query(`select pg_sleep(1.2)`)
    await holder.query('commit')
    holder.release()
    expect(await waiting).toEqual({ kind: 'not_present' })
    expect(await outcomesOf(world.pool, taskId)).toEqual([])
  })

  it('on a paused channel, or one that no worker has announced', async () => {
    const { channel, attempts } = await ownChannel('resting')
    const { taskId } = await insertTask(world.pool)
    await world.pool.query(`update channel set paused_at = now() where name = 'resting'`)
    expect(await askToOpen(attempts, taskId, { channel })).toEqual({ kind: 'paused' })
    const unannounced = testChannel({ name: 'unannounced' })
    expect(await askToOpen(attempts, taskId, { channel: unannounced })).toEqual({ kind: 'paused' })
  })

  it('beyond the places of a channel when many workers ask at once; a call whose lease is over has none', async () => {
    const { channel, attempts } = await ownChannel('narrow', 3)
    const tasks = await Promise.all(Array.from({ length: 20 }, () => insertTask(world.pool)))
    const ask = async () => {
      const asked = tasks.map(({ taskId }) => askToOpen(attempts, taskId, { channel, n: 1 }))
      return (await Promise.all(asked)).filter(({ kind }) => kind === 'opened').length
    }
    expect(await ask()).toBe(3)
    await world.pool.query(`update attempt set lease_until = now() where channel = 'narrow'`)
    expect(await ask()).toBe(3)
  })
})

it('a full channel is not locked by the many tasks that ask for it', async () => {
  const { channel, attempts } = await ownChannel('crowded', 1)
  const { taskId } = await insertTask(world.pool)
  await openAttempt(attempts, taskId, { channel })
  const tasks = await Promise.all(Array.from({ length: 50 }, () => insertTask(world.pool)))
  const holder = await world.pool.connect()
  await holder.query('begin')
  await holder.query(`select from channel where name = 'crowded' for update`)
  const asked = tasks.map(({ taskId }) => askToOpen(attempts, taskId, { channel, n: 1 }))
  expect(new Set((await Promise.all(asked)).map(({ kind }) => kind))).toEqual(new Set(['full']))
  await holder.query('rollback')
  holder.release()
})

describe('the facts of a task', () => {
  it('say which attempts it had, and which call is open', async () => {
    const { taskId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    await world.attempts.closeAttempt({ taskId, n: 1, ...unknown, retryAfterMs: 1_500 })
    const { answerId } = await openAttempt(world.attempts, taskId)
    const open = { n: 2, channel: 'b-main', answerId }
    expect(await world.attempts.readTaskFacts(taskId)).toMatchObject({
      kind: 'live',
      facts: {
        attempts: 2,
        past: [{ n: 1, class: 'unknown', reason: 'server_error', retryAfterMs: 1_500 }],
        open,
        channels: [{ channel: { name: 'b-main' } }],
      },
    })
  })

  it('say how a task ended', async () => {
    const [image, none] = [await insertTask(world.pool), await insertTask(world.pool)]
    const { answerId } = await openAttempt(world.attempts, image.taskId)
    await world.attempts.settleTask({ meta: testMeta(image.taskId), answerId })
    const failure = {
      code: 'rate_limit_exceeded',
      cause: 'refused',
      workPossible: false,
      retryAfterMs: 9_000,
    } as const
    await world.attempts.failTask(none.taskId, failure, 0)
    expect(await world.attempts.readTaskFacts(image.taskId)).toEqual({
      kind: 'over',
      end: 'succeeded',
    })
    expect(await world.attempts.readTaskFacts(none.taskId)).toEqual({ kind: 'over', end: failure })
  })

  it.each([
    ['a pause', `update channel set paused_at = now() where name = $1`, 'paused'],
    ['a cooldown', coolingSql(`'20 seconds'`, 5), 'cooldown'],
    ['no more calls than its limit after a cooldown', coolingSql(`'-10 seconds'`, 1), 'full'],
    ['a cooldown that is long over', coolingSql(`'-70 seconds'`, 1), undefined],
    ['a limit as high as its places', coolingSql(`'-10 seconds'`, 3), undefined],
  ] as const)('and `open` agree about a channel with %s', async (name, change, bar) => {
    const { channel, attempts } = await ownChannel(name, 3)
    const { taskId: first } = await insertTask(world.pool)
    await openAttempt(attempts, first, { channel })
    await world.pool.query(`update attempt set opened_at = now() - interval '1 second'`)
    await world.pool.query(change, [name])
    const { taskId } = await insertTask(world.pool)
    const facts = await attempts.readTaskFacts(taskId)
    const state = facts.kind === 'live' ? facts.facts.channels[0] : undefined
    expect(state?.bar).toBe(bar)
    const opened: OpenResult = await askToOpen(attempts, taskId, { channel })
    expect(opened.kind).toBe(bar ?? 'opened')
  })

  function coolingSql(until: string, max: number): string {
    return `insert into cooldown (channel, model, fault, until_at, max, length_ms)
      values ($1, 'familyb-image-2-vip', false, now() + interval ${until}, ${max}, 1000)`
  }
})
