import { describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import { topUpAccount } from '../../src/operations/accounts.ts'
import { exportLedger, listLedger } from '../../src/operations/ledger.ts'
import { find, showOverview, showQueue } from '../../src/operations/overview.ts'
import { pauseChannel } from '../../src/store/channels/channelAdmin.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import {
  accepted,
  createTestAccept,
  createTestCaller,
  generateRequest,
  keyBytes,
} from '../support/database/testAccept.ts'
import { openAttempt, testChannel, testMeta } from '../support/database/testAttempts.ts'
import { insertTestWebhook } from '../support/database/testWebhooks.ts'

const channels = [testChannel({ concurrencyMax: 1 }), testChannel({ name: 'a-main', family: 'A' })]
const world = useAttemptWorld(channels)
const unknown = { class: 'unknown', evidence: { reason: 'timeout' } } as const
const dayMs = 86_400_000

describe('overview', () => {
  it('shows what waits, the calls of an hour, 14 days, and what is in trouble', async () => {
    const { pool, attempts } = world
    const { accountId, taskId } = await insertTask(pool, { hardEndSeconds: 4_000 })
    await insertEndedTasks(pool, {
      accountId,
      count: 2,
      credits: 4,
      at: new Date(Date.now() - 3 * dayMs).toISOString(),
    })
    const before = await showOverview(world)
    expect(before.tasks).toEqual({ queued: 1, processing: 0 })
    expect(before.oldest_waiting).toMatchObject({ task_id: taskId, account: accountId })
    const { answerId } = await openAttempt(attempts, taskId)
    expect(await showOverview(world)).toMatchObject({
      tasks: { queued: 0, processing: 1 },
      oldest_waiting: null,
    })
    await attempts.settleTask({ meta: testMeta(taskId), answerId })
    await pool.query(
      `insert into attempt (task_id, n, channel, model, answer_id, process_id, via, lease_until,
        closed_at, class, reason)
      select $1, n, 'b-old', 'm', 'an' || n, 'pr', 'direct', now(), now() - n * interval '40 minutes', 'refused', 'rate_limited'
      from generate_series(2, 3) n`,
      [taskId],
    )
    await pauseChannel(pool, 'a-main', 'maintenance')
    await pool.query(`insert into cooldown (channel, model, fault, until_at, max, length_ms) values
      ('b-main', '*', false, now() + interval '1 minute', 1, 1), ('b-main', 'm', false, now(), 1, 1)`)
    const webhook = await insertTestWebhook(pool, accountId)
    await pool.query(`update webhook set failing_since = now() - interval '1 hour'`)
    await attempts.failTask(
      (await insertTask(pool, { accountId })).taskId,
      { code: 'upstream_error', cause: 'unknown', workPossible: false },
      0,
    )
    const overview = await showOverview(world)
    expect(overview).toMatchObject({
      object: 'overview',
      calls: [{ channel: 'b-main', outcome: 'succeeded', count: 1 }],
      paused: [{ channel: 'a-main', paused_at: expect.any(String), reason: 'maintenance' }],
      cooldowns: [{ channel: 'b-main', model: '*', until: expect.stringMatching(/^2.*\.\d{3}Z$/) }],
      webhooks_in_trouble: [{ webhook_id: webhook, account: accountId, pending: 1 }],
    })
    const { days } = overview
    const dayOf = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10)
    expect(days.map(({ day }) => day)).toEqual(Array.from({ length: 14 }, (_, n) => dayOf(13 - n)))
    expect(days.filter(({ succeeded, failed }) => succeeded + failed > 0)).toEqual([
      { day: dayOf(3), succeeded: 2, failed: 0, credits: 8 },
      { day: dayOf(0), succeeded: 1, failed: 1, credits: 10 },
    ])
    await pool.query('delete from cooldown; update channel set paused_at = null')
  })
})

describe('the queue', () => {
  async function waitingFor(taskId: string): Promise<string | undefined> {
    const queue = await showQueue({ ...world, channels: () => channels })
    return queue.data.find((task) => task.task_id === taskId)?.waiting_for
  }

  it('says for what each task waits, by account and channel', async () => {
    const { pool, attempts } = world
    const first = await insertTask(pool)
    const { accountId } = first
    const second = await insertTask(pool, { accountId })
    const other = await insertTask(pool)
    expect(await waitingFor(first.taskId)).toBe('worker')
    await openAttempt(attempts, first.taskId, { channel: testChannel({ concurrencyMax: 1 }) })
    expect(await waitingFor(first.taskId)).toBe('answer')
    expect(await waitingFor(second.taskId)).toBe('place')
    const queue = await showQueue({ ...world, channels: () => channels })
    expect(queue).toMatchObject({
      accounts: [
        { account: accountId, waiting: 1, calling: 1 },
        { account: other.accountId, waiting: 1, calling: 0 },
      ],
      channels: [
        { channel: 'a-main', in_flight: 0, paused: false, cooldown_until: null },
        { channel: 'b-main', in_flight: 1, paused: false, cooldown_until: null },
      ],
      data: [
        { task_id: first.taskId, attempts: 1, status: 'processing', account: accountId },
        { task_id: second.taskId },
        { task_id: other.taskId },
      ],
    })
    await attempts.closeAttempt({ taskId: first.taskId, n: 1, ...unknown })
    expect(await waitingFor(first.taskId)).toBe('backoff')
    await pool.query(`update attempt set class = 'declined' where task_id = $1`, [first.taskId])
    expect(await waitingFor(first.taskId)).toBe('declined')
    await pool.query(`update attempt set class = 'unknown' where task_id = $1`, [first.taskId])
    const cooling = `insert into cooldown (channel, model, fault, until_at, max, length_ms)
      values ('b-main', '*', false, now() + $1 * interval '1 second', 1, 1)
      on conflict (channel, model) do update set until_at = excluded.until_at, max = 1`
    await pool.query(cooling, [60])
    expect(await waitingFor(second.taskId)).toBe('cooldown')
    await pauseChannel(pool, 'b-main', '')
    expect(await waitingFor(second.taskId)).toBe('resume')
    // Only a channel that lists an operator's model is one for it.
    await pool.query(`update task set model = 'house' where task_id = $1`, [other.taskId])
    expect(await waitingFor(other.taskId)).toBe('channel')
    const listing = channels.map((channel) => ({ ...channel, models: { house: 'vendor-house' } }))
    const told = await showQueue({ ...world, channels: () => listing })
    expect(told.data.at(-1)).toMatchObject({ task_id: other.taskId, waiting_for: 'resume' })
    const none = await showQueue({ ...world, channels: () => [] })
    expect(none).toMatchObject({
      data: [{ waiting_for: 'backoff' }, { waiting_for: 'channel' }, {}],
    })
    await pool.query('delete from cooldown; update channel set paused_at = null')
  })
})

describe('find', () => {
  const found = async (id: string) => {
    const { data } = await find(world, id)
    return data.map(({ task_id: _task, ...row }) => row)
  }

  it('finds a task by each of its ids, also when its key is free again', async () => {
    const { pool, attempts } = world
    const caller = await createTestCaller(pool, 1_000)
    const { accept } = createTestAccept(pool)
    const requestId = `req_${'x'.repeat(24)}`
    const request = generateRequest({ route: 'images.generations' })
    const made = accepted(
      await accept({ caller, request, requestId, idempotencyKey: keyBytes('schlüssel') }),
    )
    const { taskId } = made
    const task = { kind: 'task', id: taskId, account: caller.name }
    await openAttempt(attempts, taskId)
    const evidence = { reason: 'content_policy', upstreamRequestId: 'vendor-1' } as const
    await attempts.closeAttempt({ taskId, n: 1, class: 'rejected', evidence })
    expect(await found(taskId)).toEqual([{ ...task, matched: 'task_id' }])
    expect(await found(requestId)).toEqual([{ ...task, matched: 'request_id' }])
    expect(await found('vendor-1')).toEqual([{ ...task, matched: 'upstream_request_id' }])
    expect(await found('schlüssel')).toEqual([{ ...task, matched: 'idempotency_key' }])
    await attempts.failTask(
      taskId,
      { code: 'upstream_error', cause: 'refused', workPossible: false },
      1,
    )
    expect(
      (await pool.query('select from idempotency_key where task_id = $1', [taskId])).rowCount,
    ).toBe(0)
    expect(await found('schlüssel')).toEqual([{ ...task, matched: 'idempotency_key' }])
    await setTask(pool, taskId, { purge_at: 'now()' })
    expect(await found(requestId)).toEqual([])
  })

  it('finds accounts, keys, webhooks, deliveries and channels, and nothing for what is no id', async () => {
    const { pool, attempts } = world
    const { accountId, name } = await createTestCaller(pool, 100)
    await pool.query(
      `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash) values ('key_find', $1, 'sk-find', 'p', '\\x01')`,
      [accountId],
    )
    const webhook = await insertTestWebhook(pool, accountId)
    const { taskId } = await insertTask(pool, { accountId })
    await attempts.failTask(
      taskId,
      { code: 'cancelled', cause: 'cancelled', workPossible: false },
      0,
    )
    const { rows } = await pool.query<{ id: string }>(
      'select delivery_id as id from webhook_delivery where task_id = $1',
      [taskId],
    )
    const delivery = rows[0]?.id ?? ''
    const ids = [name, 'key_find', 'sk-find', webhook, delivery, 'b-main']
    expect((await Promise.all(ids.map(found))).flat()).toEqual([
      { kind: 'account', matched: 'name', id: accountId, account: name },
      { kind: 'key', matched: 'key_id', id: 'key_find', account: name },
      { kind: 'key', matched: 'prefix', id: 'key_find', account: name },
      { kind: 'webhook', matched: 'webhook_id', id: webhook, account: name },
      { kind: 'delivery', matched: 'delivery_id', id: delivery, account: name },
      { kind: 'channel', matched: 'name', id: 'b-main', account: null },
    ])
    expect(await find(world, delivery)).toMatchObject({ data: [{ task_id: taskId }] })
    for (const id of ['', '%', `' or true --`, '$1', '{}', 'null'])
      expect(await found(id)).toEqual([])
  })
})

it('finds a hundred of what has an id, and says when there is more', async () => {
  const { accountId } = await createTestCaller(world.pool, 100)
  await world.pool.query(
    `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash)
     select 'key_many' || n, $1, 'sk-many', 'p', sha256(n::text::bytea) from generate_series(1, 101) n`,
    [accountId],
  )
  const { data, has_more: hasMore } = await find(world, 'sk-many')
  expect([data.length, hasMore]).toEqual([100, true])
  expect(await find(world, 'key_many1')).toMatchObject({ has_more: false })
})

describe('the entries of an account', () => {
  it('are listed page by page, newest first, in a window, and as CSV with sums', async () => {
    const { pool } = world
    const { accountId, name } = await createTestCaller(pool, 500)
    await topUpAccount(
      { ...world, actor: 'cli:test@host' },
      { name, credits: 70, topupId: '=cmd()' },
    )
    await insertEndedTasks(pool, { accountId, count: 3, credits: 9, at: '2026-01-02Z' })
    await insertEndedTasks(pool, { accountId, count: 1, status: 'failed', at: '2026-01-03Z' })
    const ids: number[] = []
    for (let after: number | undefined; ; after = ids.at(-1)) {
      const page = await listLedger(world, {
        account: name,
        limit: 3,
        ...defined({ after }),
      })
      if (!page.ok) throw new Error(JSON.stringify(page.failure))
      ids.push(...page.value.data.map(({ entry_id }) => entry_id))
      if (!page.value.has_more) break
    }
    const { rows } = await pool.query<{ id: number }>(
      'select entry_id as id from ledger where account_id = $1 order by created_at desc, entry_id desc',
      [accountId],
    )
    expect(ids).toEqual(rows.map(({ id }) => id))
    expect(ids).toHaveLength(10)
    const window = {
      account: name,
      startTime: '2026-01-02T00:00:00Z',
      endTime: '2026-01-03T00:00:00Z',
    }
    const page = await listLedger(world, { ...window, limit: 100 })
    expect(page).toMatchObject({
      value: { has_more: false, data: Array.from({ length: 6 }, () => ({ account: name })) },
    })
    const csv = await exportLedger(world, { account: name })
    const lines = csv.ok ? csv.value.trimEnd().split('\r\n') : []
    expect(lines).toHaveLength(1 + 10 + 6)
    expect(lines[1]).toMatch(/,deposit,70,,,,,'=cmd\(\)$/)
    expect(lines.slice(-6).map((line) => line.replace(name, 'NAME'))).toEqual([
      'total,,NAME,deposit,570',
      'total,,NAME,withdraw,0',
      'total,,NAME,hold,28',
      'total,,NAME,settle,27',
      'total,,NAME,refund,0',
      'total,,NAME,release,1',
    ])
  })

  it('are refused for an unknown account, and after an entry of another account', async () => {
    const { name } = await createTestCaller(world.pool, 5)
    const other = await createTestCaller(world.pool, 5)
    const theirs = await listLedger(world, { account: other.name, limit: 1 })
    const after = theirs.ok ? (theirs.value.data[0]?.entry_id ?? 0) : 0
    expect(await listLedger(world, { account: name, after, limit: 1 })).toMatchObject({
      failure: { kind: 'refused', param: 'after' },
    })
    expect(await listLedger(world, { account: `${name}' --`, limit: 1 })).toMatchObject({
      failure: { kind: 'not_found' },
    })
  })
})
