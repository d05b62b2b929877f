import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Pool } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { AttemptStore, OpenedAttempt } from '../../src/domain/ports/attemptStore.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts, loseWorker, testChannel } from '../support/database/testAttempts.ts'
import { untilLockAwaited } from '../support/database/untilLockAwaited.ts'

const world = useAttemptWorld()

async function open(store: AttemptStore, taskId: string): Promise<OpenedAttempt> {
  const begun = await store.beginAttempt({ taskId })
  if (begun.kind !== 'opened') throw new Error(`not opened: ${begun.kind}`)
  return begun.attempt
}

/** A pool that counts what it reads from PostgreSQL. */
async function countedPool(): Promise<{ pool: Pool; bytesRead: () => number }> {
  const target = new URL(world.databaseUrl)
  const through = new URL(target)
  let bytes = 0
  const proxy = createServer((socket) => {
    const upstream = connect(Number(target.port), '127.0.0.1')
    upstream.on('data', (chunk) => (bytes += chunk.length))
    socket.pipe(upstream).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  through.hostname = '127.0.0.1'
  through.port = typeof address === 'object' && address !== null ? String(address.port) : ''
  const pool = createPool({
    databaseUrl: through.href,
    applicationName: 'counted',
    connectionsMax: 1,
    onConnectionError: () => {},
  })
  onTestFinished(async () => {
    await pool.end()
    proxy.close()
  })
  return { pool, bytesRead: () => bytes }
}

const unknown = { class: 'unknown', evidence: { reason: 'server_error', httpStatus: 500 } } as const

describe('beginAttempt', () => {
  it('opens nothing for a request that the caller has no memory for, and says how much it needs', async () => {
    const { taskId, accountId } = await insertTask(world.pool, { prompt: 'p'.repeat(500_000) })
    const begun = await world.attempts.beginAttempt({ taskId, requestBytesMax: 400_000 })
    if (begun.kind !== 'needs_room') throw new Error(`not without room: ${begun.kind}`)
    expect(begun.accountId).toBe(accountId)
    expect(begun.bytes).toBeGreaterThan(500_000)
    const { rowCount } = await world.pool.query('select from attempt where task_id = $1', [taskId])
    expect(rowCount).toBe(0)
    const again = await world.attempts.beginAttempt({ taskId, requestBytesMax: begun.bytes })
    expect(again).toMatchObject({ kind: 'opened', attempt: { n: 1 } })
  })

  it('asks for no memory for a large request that may not call now', async () => {
    const { taskId } = await insertTask(world.pool, {
      prompt: 'p'.repeat(500_000),
      deadlineSeconds: -1,
    })
    const begun = await world.attempts.beginAttempt({ taskId, requestBytesMax: 1 })
    expect(begun.kind).toBe('end')
  })

  it('reads the text of a request only when it opens an attempt', async () => {
    const { pool, bytesRead } = await countedPool()
    const store = await createTestAttempts(pool)
    const { taskId } = await insertTask(world.pool)
    const size = 4_000_000
    await world.pool.query(
      `update task set request = jsonb_build_object('inputs', '[]'::jsonb, 'text', repeat('x', $2))::text
       where task_id = $1`,
      [taskId, size],
    )
    await open(store, taskId)
    const openedBytes = bytesRead()
    expect(openedBytes).toBeGreaterThan(size)
    expect(openedBytes).toBeLessThan(size * 1.1)
    expect(await store.beginAttempt({ taskId })).toMatchObject({ kind: 'unchecked' })
    await store.closeAttempt({ taskId, n: 1, ...unknown })
    expect(await store.beginAttempt({ taskId })).toMatchObject({ kind: 'wait' })
    expect(
      await store.failTask(taskId, {
        code: 'upstream_error',
        cause: 'unknown',
        workPossible: true,
      }),
    ).toBe('failed')
    expect(bytesRead() - openedBytes).toBeLessThan(100_000)
  })

  it('opens the first attempt and sets the task processing', async () => {
    const { taskId } = await insertTask(world.pool)
    const attempt = await open(world.attempts, taskId)
    expect(attempt).toMatchObject({ n: 1, upstreamKey: `${taskId}-1`, timeoutMs: 5_000 })
    const { rows } = await world.pool.query('select status from task where task_id = $1', [taskId])
    expect(rows).toEqual([{ status: 'processing' }])
  })

  it('opens the first attempt also for a worker that has asked before', async () => {
    const { taskId } = await insertTask(world.pool)
    const begun = await world.attempts.beginAttempt({ taskId, question: 'further' })
    expect(begun).toMatchObject({ kind: 'opened', attempt: { n: 1 } })
  })

  it('leaves out its fast path for a worker that has asked before', async () => {
    const { taskId } = await insertTask(world.pool)
    const query = vi.spyOn(world.pool, 'query')
    onTestFinished(() => query.mockRestore())
    await world.attempts.beginAttempt({ taskId, via: 'offer', question: 'further' })
    expect(query.mock.calls).toEqual([[expect.objectContaining({ name: 'read-request' })]])
  })

  it('opens one attempt when two workers begin at once', async () => {
    const { taskId } = await insertTask(world.pool)
    const begun = await Promise.all([1, 2, 3].map(() => world.attempts.beginAttempt({ taskId })))
    expect(begun.map(({ kind }) => kind).toSorted()).toEqual(['opened', 'unchecked', 'unchecked'])
  })

  it('asks for the stored answer of an open attempt before it counts the attempt as lost', async () => {
    const { taskId } = await insertTask(world.pool)
    const first = await open(world.attempts, taskId)
    const again = await world.attempts.beginAttempt({ taskId })
    expect(again).toEqual({ kind: 'unchecked', n: 1, answerId: first.answerId })
    await loseWorker(world.pool, taskId)
    expect(await world.attempts.beginAttempt({ taskId, checked: 1 })).toMatchObject({
      kind: 'wait',
      reason: 'backoff',
    })
    const { rows } = await world.pool.query(
      'select class, reason from attempt where task_id = $1',
      [taskId],
    )
    expect(rows).toEqual([{ class: 'unknown', reason: 'worker_lost' }])
  })

  it('waits while the worker of an open call is present, and makes no second call', async () => {
    const { taskId } = await insertTask(world.pool)
    await open(world.attempts, taskId)
    const wait = { kind: 'wait', reason: 'call_under_way', channel: 'b-main', delayMs: 2_500 }
    expect(await world.attempts.beginAttempt({ taskId, checked: 1 })).toEqual(wait)
  })

  it('keeps the upstream key through unknown outcomes, and takes a new key after a refusal', async () => {
    const { taskId } = await insertTask(world.pool)
    const first = await open(world.attempts, taskId)
    await world.attempts.closeAttempt({ taskId, n: 1, ...unknown })
    await world.pool.query(`update attempt set closed_at = closed_at - interval '1 minute'`)
    const second = await open(world.attempts, taskId)
    expect(second).toMatchObject({ n: 2, upstreamKey: first.upstreamKey })
    const refused = { class: 'refused', evidence: { reason: 'rate_limited' } } as const
    await world.attempts.closeAttempt({ taskId, n: 2, ...refused, retryAfterMs: 0 })
    await world.pool.query('delete from cooldown')
    expect(await open(world.attempts, taskId)).toMatchObject({
      n: 3,
      upstreamKey: first.upstreamKey,
    })
    const other = await insertTask(world.pool)
    await open(world.attempts, other.taskId)
    await world.attempts.closeAttempt({ taskId: other.taskId, n: 1, ...refused, retryAfterMs: 0 })
    await world.pool.query('delete from cooldown')
    expect(await open(world.attempts, other.taskId)).toMatchObject({
      upstreamKey: `${other.taskId}-2`,
    })
  })

  it('opens nothing for a task that has ended or is unknown', async () => {
    const { taskId } = await insertTask(world.pool)
    expect(await world.attempts.cancelTask(taskId, 'asked')).toBe('cancelled')
    expect(await world.attempts.beginAttempt({ taskId })).toEqual({ kind: 'over' })
    const absent = 'task_00000000000000000000000000000000'
    expect(await world.attempts.beginAttempt({ taskId: absent })).toEqual({ kind: 'over' })
  })

  it('opens nothing after the deadline', async () => {
    const { taskId } = await insertTask(world.pool, { deadlineSeconds: -1 })
    expect(await world.attempts.beginAttempt({ taskId })).toMatchObject({
      kind: 'end',
      failure: { code: 'generation_timeout', workPossible: false },
    })
  })

  it.each(['task', 'channel'])(
    'opens nothing after a deadline that passed while it waited for the row of its %s',
    async (table) => {
      const { taskId } = await insertTask(world.pool, { deadlineSeconds: 2 })
      const holder = await world.pool.connect()
      onTestFinished(() => holder.release(true))
      await holder.query('begin')
      await holder.query(
        table === 'task'
          ? `select from task where task_id = '${taskId}' for update`
          : `select from channel where name = 'b-main' for update`,
      )
      const beginning = world.attempts.beginAttempt({ taskId })
      await untilLockAwaited(world.pool)
      await holder.query(`select pg_sleep_for('2.2 seconds')`)
      const waiting = await holder.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      await holder.query('commit')
      expect(waiting.rowCount).toBe(1)
      expect(await beginning).toMatchObject({
        kind: 'end',
        failure: { code: 'generation_timeout', workPossible: false },
      })
    },
  )

  it('never opens more calls on a channel than its limit when many tasks begin at once', async () => {
    const narrow = testChannel({ name: 'narrow', concurrencyMax: 3 })
    const store = await createTestAttempts(world.pool, [narrow])
    const tasks = await Promise.all(Array.from({ length: 12 }, () => insertTask(world.pool)))
    const begun = await Promise.all(tasks.map(({ taskId }) => store.beginAttempt({ taskId })))
    const kinds = begun.map((result) => (result.kind === 'wait' ? result.reason : result.kind))
    expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(3)
    expect(kinds.filter((kind) => kind === 'channel_full')).toHaveLength(9)
  })

  it('gives the place of a call whose lease has run out to another task', async () => {
    const single = testChannel({ name: 'single', concurrencyMax: 1 })
    const store = await createTestAttempts(world.pool, [single])
    const [first, second] = [await insertTask(world.pool), await insertTask(world.pool)]
    await open(store, first.taskId)
    expect(await store.beginAttempt({ taskId: second.taskId })).toMatchObject({ kind: 'wait' })
    await world.pool.query(
      `update attempt set lease_until = now() - interval '1 second' where channel = 'single'`,
    )
    await open(store, second.taskId)
  })
})
