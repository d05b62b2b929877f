import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { OpenedAttempt } from '../../src/domain/ports/attemptStore.ts'
import { beginInTransaction } from '../../src/store/attempts/beginAttempt.ts'
import { createBeginFirstCall } from '../../src/store/attempts/beginFirstCall.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { testChannel } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

// The conditions of a first call stand twice: in the gate, where TypeScript decides, and in its fast path, the SQL
// function `begin_first_calls`. Each state is written twice, and each of the two is asked in it.

const database = useTestDatabase()
const channels = [testChannel({ concurrencyMax: 1 })]
const model = 'familyb-image-2-vip'
const inSeconds = (seconds: number) => `now() + interval '${seconds} seconds'`

/** A call of another task. */
const callOf = (leaseSeconds: number, given: { closed?: true; channel?: string } = {}) => `
  insert into attempt (task_id, n, channel, model, answer_id, upstream_key, lease_until, process_id, via,
    closed_at, class, reason)
  select task_id, 1, '${given.channel ?? 'b-main'}', '${model}', 'an-other', 'key', ${inSeconds(leaseSeconds)},
    'other', 'workflow', ${given.closed ? `now(), 'rejected', 'no_image'` : 'null, null, null'}
  from task where account_id = 'acct_other'`
const cooldownOf = (model: string, seconds: number) => `
  insert into cooldown (channel, model, until_at, slot_at)
  values ('b-main', '${model}', ${inSeconds(seconds)}, ${inSeconds(seconds)})`
/** `:task` stands for the id of the task that asks. */
const inQueue = (task: string, presentSeconds: number) => `
  insert into place_queue (channel, task_id, account_id, sync, since, present_until)
  values ('b-main', ${task}, 'acct_other', false, ${inSeconds(-5)}, ${inSeconds(presentSeconds)})`

type State = readonly [title: string, sql: string, answer: string, fastAnswer?: string]

/** What the gate answers in each state, and the fast path where it leaves the answer to the gate. */
const states: readonly State[] = [
  ['with a free place', 'select', 'opened'],
  ['of a paused channel', 'update channel set paused_at = now()', 'channel_paused'],
  ['of a full channel', callOf(30), 'channel_full'],
  ['after a call whose lease has run out', callOf(-1), 'opened'],
  ['after a call that is closed', callOf(30, { closed: true }), 'opened'],
  ['with a call on another channel', callOf(30, { channel: 'b-other' }), 'opened'],
  ['in a cooldown of its model', cooldownOf(model, 30), 'cooldown'],
  ['after a cooldown of its model', cooldownOf(model, -5), 'opened', 'left to the gate'],
  ['in a cooldown of another model', cooldownOf('familyb-image-2-web', 30), 'opened'],
  ['behind a task in line', inQueue(`'task_other'`, 30), 'channel_full'],
  ['behind a task that asks no more', inQueue(`'task_other'`, -1), 'opened'],
  ['first in line', inQueue(':task', 30), 'opened', 'left to the gate'],
  [
    'past its deadline',
    `update task set deadline_at = ${inSeconds(-1)} where task_id = :task`,
    'end',
  ],
]

/** Writes the state, and returns the task that asks in it. */
async function writeState(sql: string): Promise<string> {
  const { pool } = database
  await pool.query('truncate task, attempt, cooldown, place_queue, channel cascade')
  await pool.query(`insert into channel (name) values ('b-main')`)
  await insertTask(pool, { accountId: 'acct_other' })
  const { taskId } = await insertTask(pool)
  await pool.query(sql.replaceAll(':task', `'${taskId}'`))
  return taskId
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

function facts({ n, timeoutMs, hardEndMs, takeRequest, channel }: OpenedAttempt) {
  const times = [timeoutMs, hardEndMs].map((ms) => Math.round(ms / 1e4))
  return { n, times, request: takeRequest(), channel: channel.name }
}

describe('the fast path of the gate', () => {
  it.each(states)('answers for a task %s as the gate does', async (...state) => {
    const [, sql = '', answer, fastAnswer = answer] = state
    const { pool } = database
    const deps = {
      pool,
      processId: 'test',
      randomBytes,
      random: () => 0,
      channelsOf: () => channels,
    }
    const full = await writeState(sql)
    const decided = await beginInTransaction(
      { ...deps, callsMax: 3 },
      { taskId: full, via: 'offer' },
    )
    expect(decided.kind === 'wait' ? decided.reason : decided.kind).toBe(answer)
    const afterCall = await written(full)

    const fast = await writeState(sql)
    const before = await written(fast)
    const attempt = await createBeginFirstCall(deps)({ taskId: fast, via: 'offer' })
    expect(attempt !== undefined).toBe(fastAnswer === 'opened')
    expect(await written(fast)).toEqual(attempt === undefined ? before : afterCall)
    const opened = attempt !== undefined && decided.kind === 'opened' ? decided.attempt : undefined
    expect(attempt && facts(attempt)).toEqual(opened && facts(opened))
  })
})
