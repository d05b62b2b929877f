import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { OpenResult } from '../../src/store/attempts/openAttempt.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask, taskRow } from '../support/database/reconcileWorld.ts'
import {
  askToOpen,
  loseWorker,
  testMeta,
  testProcessId,
  createTestAttempts,
  openAttempt,
  outcomesOf,
  testChannel,
} from '../support/database/testAttempts.ts'
import { whileUncommitted } from '../support/database/whileUncommitted.ts'

const world = useAttemptWorld()

const unknown = { class: 'unknown', evidence: { reason: 'server_error', httpStatus: 500 } } as const
const refused = { class: 'refused', evidence: { reason: 'rate_limited' } } as const

/** Inserts a channel that only one test uses. */
async function ownChannel(name: string, concurrencyMax = 50, timeoutMs = 5_000) {
  const channel = testChannel({ name, concurrencyMax, timeoutMs })
  const attempts = await createTestAttempts(world.pool, [channel])
  return { channel, attempts }
}

describe('an attempt', () => {
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

  it('keeps the upstream key after an unknown outcome, and gets a new one after a refusal; no refusal makes a cancel possible after it [cancel-3]', async () => {
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
      expect(await attempts.cancelTask(taskId, 'asked')).toBe('work_possible')
      return keys
    }
    expect(await keysOf(unknown, refused, unknown, refused)).toEqual(['-1', '-1', '-1', '-1'])
    expect(await keysOf(refused, unknown, refused)).toEqual(['-1', '-2', '-2'])
  })
})

describe('no attempt is opened', () => {
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

    const lock = [`select from channel where name = 'locked' for update`] as const
    const late = await whileUncommitted(
      world.pool,
      lock,
      () => ask('silent soon'),
      () => sleep(1_200),
    )
    expect(late).toEqual({ kind: 'not_present' })
    expect(await outcomesOf(world.pool, taskId)).toEqual([])
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

describe('a close', () => {
  it('moves the next check from after the lease to within half a minute', async () => {
    const { attempts, channel } = await ownChannel('slow', 50, 300_000)
    const { taskId } = await insertTask(world.pool)
    const { n } = await openAttempt(attempts, taskId, { channel })
    await setTask(world.pool, taskId, { started_at: 'now()' })
    expect((await taskRow(world.pool, taskId))?.nextCheck).toBeGreaterThan(300)
    await attempts.closeAttempt({ taskId, n, class: 'rejected', evidence: { reason: 'no_image' } })
    const nextCheck = (await taskRow(world.pool, taskId))?.nextCheck
    expect(nextCheck).toBeGreaterThan(20)
    expect(nextCheck).toBeLessThanOrEqual(30)
  })

  it('that meets the uncommitted opening of its attempt waits for it and closes the attempt', async () => {
    const { taskId } = await insertTask(world.pool)
    const opening = [
      `select * from open_attempt($1, 1, 'an-late', 'this-process', 'workflow', 'b-main', 1000, 5000, 30000, 8000, null)`,
      taskId,
    ] as const
    const notCalled = { class: 'refused', evidence: { reason: 'not_called' } } as const
    const close = { taskId, n: 1, answerId: 'an-late', ...notCalled }
    await whileUncommitted(world.pool, opening, () => world.attempts.closeAttempt(close))
    expect(await outcomesOf(world.pool, taskId)).toEqual(['refused not_called'])
    const { facts } = Object(await world.attempts.readTaskFacts(taskId))
    expect(facts).not.toHaveProperty('open')
  })

  it('of a lost attempt beside the image of an earlier one frees its place, and its answer is swept when no worker can store it any more', async () => {
    const { taskId } = await insertTask(world.pool)
    const first = await openAttempt(world.attempts, taskId)
    await world.attempts.closeAttempt({ taskId, n: 1, ...unknown })
    const second = await openAttempt(world.attempts, taskId)
    const input = { meta: testMeta(taskId, 1), answerId: first.answerId }
    expect(await world.attempts.settleTask(input)).toBe(true)
    expect(await outcomesOf(world.pool, taskId)).toEqual(['succeeded image', 'open '])
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.loseAttempt({ taskId, n: 2, witness: testProcessId })).toBe(true)
    expect(await outcomesOf(world.pool, taskId)).toEqual(['succeeded image', 'unknown worker_lost'])
    const { rows } = await world.pool.query(
      `select upload_id as id, sweep_after > now() as kept,
         sweep_after = hard_end_at + interval '1 hour' as later
       from upload join task using (task_id) where task_id = $1 order by upload.created_at`,
      [taskId],
    )
    expect(rows).toEqual([
      { id: first.answerId, kept: true, later: false },
      { id: second.answerId, kept: true, later: true },
    ])
  })
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
