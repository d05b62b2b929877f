import type { Arbitrary } from 'fast-check'
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  integer,
  oneof,
  option,
  record,
} from 'fast-check'
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import { orderChannels } from '../../src/domain/gate/orderChannels.ts'
import type { BeginResult, TaskEnd } from '../../src/domain/ports/attemptStore.ts'
import type { Channel } from '../../src/domain/upstream/channel.ts'
import { beginInTransaction } from '../../src/store/attempts/beginAttempt.ts'
import { createBeginFirstCall } from '../../src/store/attempts/beginFirstCall.ts'
import { createQueuedLooks } from '../../src/store/attempts/queuedLooks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { testChannel } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

// The conditions of a first call stand twice: in the gate, where TypeScript decides, and in its fast path,
// the SQL function `begin_first_calls`. The look without locks reads the states by a statement of its own. Each generated state is written twice, for two tasks on two channels.
// One task asks the fast path, the other the gate alone.

const model = 'familyb-image-2-vip'
const otherModel = 'familyb-image-2-web'

/** Times are seconds from now, far enough from now that a slow machine changes no answer. */
const past = integer({ min: -90, max: -2 })
const future = integer({ min: 20, max: 90 })
const moment = oneof(past, future)

const state = record({
  sync: boolean(),
  via: constantFrom('offer' as const, 'workflow' as const),
  deadlineSeconds: oneof({ weight: 4, arbitrary: constant(600) }, moment),
  hardEndSeconds: integer({ min: 700, max: 1_200 }),
  concurrencyMax: integer({ min: 1, max: 3 }),
  timeoutMs: constantFrom(5_000, 2_000_000),
  paused: oneof({ weight: 4, arbitrary: constant(false) }, constant(true)),
  openCalls: array(record({ leaseSeconds: moment, ofModel: boolean() }), { maxLength: 3 }),
  cooldown: option(
    record({
      ofModel: boolean(),
      untilSeconds: moment,
      windowSeconds: option(past, { nil: undefined }),
      granted: integer({ min: 0, max: 3 }),
      learned: integer({ min: 1, max: 4 }),
    }),
    { nil: undefined, freq: 2 },
  ),
  queue: array(record({ presentSeconds: moment, sync: boolean() }), { maxLength: 1 }),
  ownPlaceSeconds: option(moment, { nil: undefined, freq: 2 }),
  /** A second channel of the family. The rest of the state is that of the channel that the task tries first. */
  second: option(
    record({
      paused: boolean(),
      weights: option(
        record({ one: integer({ min: 1, max: 9 }), two: integer({ min: 1, max: 9 }) }),
        {
          nil: undefined,
          freq: 4,
        },
      ),
    }),
    { nil: undefined, freq: 2 },
  ),
})
type State = typeof state extends Arbitrary<infer Value> ? Value : never

const database = useTestDatabase()

/** Writes one copy of the state and returns its task and channel. */
async function writeState(given: State) {
  const { pool } = database
  const { taskId } = await insertTask(pool, {
    route: given.sync ? 'images.generations' : 'images.tasks',
    deadlineSeconds: given.deadlineSeconds,
    hardEndSeconds: given.hardEndSeconds,
  })
  const { weights } = given.second ?? {}
  const channels = (['one', 'two'] as const)
    .slice(0, given.second === undefined ? 1 : 2)
    .map((at) =>
      testChannel({
        name: `gate-${at}-${randomBytes(8).toString('hex')}`,
        timeoutMs: given.timeoutMs,
        concurrencyMax: given.concurrencyMax,
        ...defined({ weight: weights?.[at] }),
      }),
    )
  const [channel, second] = orderChannels(channels, taskId)
  if (channel === undefined) throw new Error('No channel')
  const pauses = [
    { name: channel.name, paused: given.paused },
    ...(second === undefined ? [] : [{ name: second.name, paused: given.second?.paused ?? false }]),
  ]
  for (const { name, paused } of pauses) {
    await pool.query(
      `insert into channel (name, paused_at) values ($1, case when $2 then now() end)`,
      [name, paused],
    )
  }
  for (const { leaseSeconds, ofModel } of given.openCalls) {
    const other = await insertTask(pool)
    await pool.query(
      `insert into attempt (task_id, n, channel, model, answer_id, upstream_key, opened_at, lease_until,
         process_id, via)
       values ($1, 1, $2, $3, $1 || '-answer', $1, now() - interval '10 seconds',
         now() + $4 * interval '1 second', 'other', 'workflow')`,
      [other.taskId, channel.name, ofModel ? model : otherModel, leaseSeconds],
    )
  }
  const { cooldown } = given
  if (cooldown !== undefined) {
    await pool.query(
      `insert into cooldown (channel, model, until_at, window_at, granted, learned, slot_at, slot_ms)
       values ($1, $2, now() + $3 * interval '1 second', now() + $4::int * interval '1 second', $5, $6,
         now() + $3 * interval '1 second', 50)`,
      [
        channel.name,
        cooldown.ofModel ? model : otherModel,
        cooldown.untilSeconds,
        cooldown.windowSeconds ?? null,
        cooldown.granted,
        cooldown.learned,
      ],
    )
  }
  for (const [at, { presentSeconds, sync }] of given.queue.entries()) {
    await standInQueue(channel, `waiting-${at}`, presentSeconds, sync)
  }
  if (given.ownPlaceSeconds !== undefined) {
    await standInQueue(channel, taskId, given.ownPlaceSeconds, given.sync)
  }
  const deps = {
    pool,
    processId: 'test',
    randomBytes,
    random: () => 0,
    channelsOf: () => channels,
    callsMax: 3,
  }
  return { taskId, channel, deps }
}

async function standInQueue(channel: Channel, taskId: string, seconds: number, sync: boolean) {
  await database.pool.query(
    `insert into place_queue (channel, task_id, account_id, sync, since, present_until)
     values ($1, $2, 'acct_waiting', $4, now() - interval '5 seconds',
       now() + $3 * interval '1 second')`,
    [channel.name, taskId, seconds, sync],
  )
}

/** Everything that opening a call writes, free of ids; times in seconds from now, rounded to ten. */
async function written(taskId: string) {
  const { rows } = await database.pool.query(
    `select status, checks, processing_at is not null as processing,
       round(extract(epoch from next_check_at - now()) / 10)::int as next_check,
       (select json_agg(json_build_object('n', n, 'model', model, 'key', upstream_key = $1 || '-1',
          'lease', round(extract(epoch from lease_until - now()) / 10), 'process', process_id, 'via', via,
          'closed', closed_at)) from attempt where task_id = $1) as attempts,
       (select json_agg(json_build_object('kind', kind, 'sweep', sweep_after = 'infinity'))
        from upload where task_id = $1) as uploads,
       (select count(*)::int from place_queue where task_id = $1) as places
     from task where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

function facts(result: BeginResult) {
  if (result.kind !== 'opened') return result
  const { n, timeoutMs, hardEndMs, takeRequest } = result.attempt
  return {
    n,
    timeoutMs: Math.round(timeoutMs / 1e4),
    hardEndMs: Math.round(hardEndMs / 1e4),
    request: takeRequest(),
  }
}

/** The failure, with its time rounded to ten seconds. */
function failureOf({ failure }: Pick<TaskEnd, 'failure'>) {
  return { ...failure, retryAfterMs: Math.round((failure.retryAfterMs ?? 0) / 1e4) }
}

describe('the fast path of the gate', () => {
  it('opens exactly the first calls that the gate opens on a channel without cooldown and queue, and ends those that it ends', async () => {
    let opened = 0
    let refused = 0
    let onSecond = 0
    let ended = 0
    let inLine = 0
    await assert(
      asyncProperty(state, async (given) => {
        const { via } = given
        const [fast, full] = await Promise.all([writeState(given), writeState(given)])
        const untouched = await written(fast.taskId)
        const looks = createQueuedLooks(fast.deps)
        const look = await looks.endOfFirstCall(fast.taskId)
        expect(await written(fast.taskId)).toEqual(untouched)
        const attempt = await createBeginFirstCall(fast.deps)({ taskId: fast.taskId, via })
        const decided = await beginInTransaction(full.deps, { taskId: full.taskId, via })
        expect(look && failureOf(look)).toEqual(
          decided.kind === 'end' ? failureOf(decided) : undefined,
        )
        if (look !== undefined) ended += 1
        const simple =
          given.cooldown?.ofModel !== true &&
          given.queue.every(({ presentSeconds }) => presentSeconds < 0) &&
          (given.ownPlaceSeconds ?? -1) < 0
        // The fast path knows the first channel alone.
        const onFirst =
          decided.kind === 'opened' && decided.attempt.channel.name === full.channel.name
        expect(attempt !== undefined).toBe(onFirst && simple)
        expect(attempt?.channel.name).toBe(attempt && fast.channel.name)
        if (decided.kind === 'opened' && !onFirst) onSecond += 1
        if (attempt === undefined) refused += 1
        else opened += 1
        const asked = attempt === undefined ? undefined : facts({ kind: 'opened', attempt })
        expect(asked).toEqual(attempt === undefined ? undefined : facts(decided))
        const left = attempt === undefined ? untouched : await written(full.taskId)
        expect(await written(fast.taskId)).toEqual(left)
        if (attempt !== undefined) return
        const kept = await looks.waitInLine(fast.taskId)
        const isFull = decided.kind === 'wait' && decided.reason === 'channel_full'
        // In the queue of the first channel only.
        const isInLine =
          isFull && (given.ownPlaceSeconds ?? -1) > 0 && given.second?.paused !== false
        const waiting = await written(isInLine ? full.taskId : fast.taskId)
        expect(await written(fast.taskId)).toEqual(waiting)
        expect(kept && { ...kept, channel: undefined }).toEqual(
          isInLine ? { ...decided, channel: undefined } : undefined,
        )
        if (kept !== undefined) inLine += 1
      }),
      { numRuns: 300, seed: 20_26 },
    )
    // States of both kinds must have come up, or the comparison says nothing.
    expect(opened).toBeGreaterThan(10)
    expect(refused).toBeGreaterThan(40)
    expect(onSecond).toBeGreaterThan(5)
    expect(ended).toBeGreaterThan(10)
    expect(inLine).toBeGreaterThan(3)
  }, 120_000)
})
