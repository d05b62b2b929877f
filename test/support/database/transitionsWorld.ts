import type { Pool } from 'pg'
import { newTaskId } from '../../../src/domain/ids.ts'
import type { Seeded } from '../seeded.ts'
import type { SmallerPrice } from '../../../src/domain/models/smallerPrices.ts'
import type { ModelState, ModelTask, Step } from './transitionsModel.ts'
import { moneyOf, newTask, openOf } from './transitionsModel.ts'

// One history of the model test: its rows, what is done to them at random, and how the database and the model show
// the same state.

/** How many histories run. */
export const histories = Number(process.env['MODEL_HISTORIES'] ?? 24)
export const firstSeed = Number(process.env['MODEL_SEED'] ?? 1)
/** How many rounds of three steps at the same time a history has. */
export const rounds = 20
const models = ['familyb-image-2-web', 'familyb-image-2-vip']
const outcomes = [
  ['succeeded', 'image'],
  ['refused', 'rate_limited'],
  ['refused', 'not_called'],
  ['rejected', 'content_policy'],
  ['exhausted', 'quota_exhausted'],
  ['refused', 'server_error'],
  ['declined', 'forbidden'],
  ['unknown', 'in_progress'],
  ['operator_fault', 'credential'],
  ['operator_fault', 'model_not_found'],
  ['unknown', 'timeout'],
  ['unknown', 'server_error'],
] as const

/** Writes ten accepted tasks of three accounts, two channels, two workers and a witness, and returns them as a model. */
export async function beginHistory(pool: Pool, seed: number, seeded: Seeded): Promise<ModelState> {
  const names = (kind: string) => [0, 1, 2].map((number) => `${kind}${number}-${seed}`)
  const accounts = names('account')
  const [channels, workers] = [names('channel').slice(1), names('worker')]
  const tasks: Record<string, ModelTask> = {}
  for (let number = 0; number < 10; number += 1) {
    const account = seeded.pick(accounts)
    const task = newTask({ account, model: seeded.pick(models), ...pricesOf(seeded) })
    const id = `task_${String(seed * 100 + number).padStart(32, '0')}`
    tasks[id] = {
      ...task,
      isSync: seeded.chance(0.5),
      hasKey: true,
      uploads: { [`in.${id}`]: 'kept' },
    }
  }
  const paid = (account: string) => moneyOf({ ...empty, tasks }, account).held
  const deposits = Object.fromEntries(accounts.map((account) => [account, paid(account) + 15]))
  await pool.query({
    name: 'begin-history',
    text: beginSql,
    values: [
      JSON.stringify(Object.entries(tasks).map(([id, task]) => ({ id, ...task }))),
      JSON.stringify(accounts.map((id) => ({ id, deposit: deposits[id], held: paid(id) }))),
      channels,
      workers,
      seed,
    ],
  })
  const processes = Object.fromEntries(workers.map((name) => [name, 'steady' as const]))
  const paused = Object.fromEntries(channels.map((name) => [name, false]))
  return { deposits, tasks, paused, processes }
}

/** A price, and what smaller images cost, as a submit finds them. */
function pricesOf(seeded: Seeded) {
  const credits = seeded.between(0, 20)
  const smaller = (side: number): SmallerPrice => ({
    belowPixels: side ** 2,
    credits: seeded.between(0, credits),
  })
  return { credits, smallerPrices: seeded.pick([[], [smaller(20)], [smaller(15), smaller(25)]]) }
}

const empty = { deposits: {}, processes: {}, paused: {} }

const beginSql = `
  with given as (
    select * from json_to_recordset($1) as given
      (id text, account text, model text, credits bigint, "smallerPrices" jsonb, "isSync" boolean, uploads json)
  ), owners as (
    select *, row_number() over () as number
    from json_to_recordset($2) as owners (id text, deposit bigint, held bigint)
  ), accounts as (
    insert into account (account_id, name) select id, id from owners
  ), balances as (
    insert into balance (account_id, available, deposited) select id, deposit - held, deposit from owners
  ), budgets as (
    insert into budget_use (key_id, starts_at, ends_at, budget_credits, used)
    select 'key-' || id, now() + days * interval '1 day', now() + (days + 1) * interval '1 day', deposit, held
    from owners, unnest(array[-0.5, -1.5, 0.5]) as days
  ), webhooks as (
    insert into webhook (webhook_id, account_id, url, events, status, key_id)
    select 'wh_' || lpad($5::text || number::text, 24, '0'), id, '',
      case number when 1 then array['task.failed'] else array['task.failed', 'task.succeeded'] end,
      case number when 2 then 'disabled' else 'active' end, ''
    from owners
  ), tasks as (
    insert into task (task_id, account_id, key_id, route, family, model, action, request, fingerprint, credits,
      smaller_prices, deadline_at, hard_end_at)
    select id, account, 'key-' || account, route, 'B', model, 'edit',
      json_build_object('route', route, 'inputs', array['one'])::text, '', credits,
      nullif("smallerPrices", '[]'), now() + interval '1 hour', now() + interval '2 hours'
    from given, lateral (select case when "isSync" then 'images.edits' else 'images.tasks' end as route) asked
  ), entries as (
    insert into ledger (account_id, task_id, kind, credits, key_id)
    select id, null, 'deposit', deposit, null from owners
    union all select account, id, 'hold', credits, 'key-' || account from given
  ), keys as (
    insert into idempotency_key (account_id, key_digest, task_id) select account, id::bytea, id from given
  ), inputs as (
    insert into upload (upload_id, kind, task_id, sweep_after) select 'in.' || id, 'input', id, 'infinity' from given
  ), channels as (
    insert into channel (name) select unnest($3::text[])
  )
  insert into worker_process (process_id, seen_at, steady_since)
  select unnest($4::text[]), now() + interval '1 day', now() - interval '1 minute'`

export const kinds = [
  ...(['open', 'open', 'open', 'close', 'close', 'close', 'abandon', 'lose', 'lose'] as const),
  ...(['settle', 'fail', 'cancel', 'retry', 'purge'] as const),
] as const

/** Chooses a step that may or may not be possible. `lane` is the connection that takes it. */
export function chooseStep(
  state: ModelState,
  seeded: Seeded,
  given: {
    readonly taskId: string
    readonly lane: number
    readonly kind: Step['kind'] | undefined
  },
): Step {
  const { taskId, lane } = given
  const { attempts, status } = taskOf(state, taskId)
  const kind =
    given.kind ?? seeded.pick([...kinds, status === 'failed' ? 'retry' : 'open'] as const)
  const had = attempts.length
  const isUsual = seeded.chance(0.8)
  const usual = kind === 'open' ? had + 1 : kind === 'fail' ? had : Math.max(1, had)
  const n = isUsual ? usual : seeded.between(1, had + 1)
  const answerId = attempts[n - 1]?.answerId ?? `an.${n}.${lane}.${taskId}`
  return {
    // Only the answer of an attempt can be stored and settled.
    kind: kind === 'settle' && n > had ? 'purge' : kind,
    taskId,
    n,
    answerId: kind === 'abandon' && !isUsual ? 'of another' : answerId,
    channel: seeded.pick(Object.keys(state.paused).slice(0, seeded.pick([1, 1, 2]))),
    process: seeded.pick(Object.keys(state.processes)),
    outcome: seeded.pick(outcomes),
    newTaskId: newTaskId(),
    ...pricesOf(seeded),
    side: seeded.pick([0, 10, 20, 30]),
    isMild: seeded.chance(0.5),
  }
}

function taskOf(state: ModelState, taskId: string): ModelTask {
  const task = state.tasks[taskId]
  if (task === undefined) throw new Error(`no task ${taskId}`)
  return task
}

/** Lets time pass for a task, a process or a channel, in the model and in the database. */
export async function letTimePass(
  pool: Pool,
  state: ModelState,
  seeded: Seeded,
  taskId: string,
): Promise<void> {
  const task = taskOf(state, taskId)
  const channel = seeded.pick(Object.keys(state.paused))
  const process = seeded.pick(Object.keys(state.processes))
  const [beat, seen, steady] = seeded.pick(beats)
  const passings = {
    deadline: () => {
      task.isPastDeadline = true
      return [`update task set deadline_at = now() where task_id = $1`, taskId]
    },
    end: () => {
      Object.assign(task, { isPastDeadline: true, isPastEnd: true })
      return ['update task set deadline_at = now(), hard_end_at = now() where task_id = $1', taskId]
    },
    lease: () => {
      for (const attempt of task.attempts) attempt.isLeaseOver = true
      return ['update attempt set lease_until = now() where task_id = $1', taskId]
    },
    record: () => {
      task.isPurgeDue = task.status === 'succeeded' || task.status === 'failed'
      return [
        'update task set purge_at = now() where task_id = $1 and completed_at is not null',
        taskId,
      ]
    },
    inputs: () => {
      for (const [id, kept] of Object.entries(task.uploads)) {
        if (id.startsWith('in') && kept === 'later') task.uploads[id] = 'due'
      }
      return [
        `update upload set sweep_after = now() where task_id = $1 and kind = 'input' and sweep_after < 'infinity'`,
        taskId,
      ]
    },
    process: () => {
      state.processes[process] = beat
      const ages = `seen_at = now() - interval '${seen} s', steady_since = now() - interval '${steady} s'`
      return [`update worker_process set ${ages} where process_id = $1`, process]
    },
    pause: () => {
      state.paused[channel] = state.paused[channel] !== true
      return [
        `update channel set paused_at = case when paused_at is null then now() end where name = $1`,
        channel,
      ]
    },
    cooldown: () => ['update cooldown set until_at = now() where channel = $1', channel],
  }
  const often = ['record', 'process', 'process', 'cooldown', 'cooldown'] as const
  const [text = '', ...values] =
    passings[
      seeded.pick([...often, 'deadline', 'end', 'lease', 'record', 'inputs', 'pause'] as const)
    ]()
  await pool.query(text, values)
}

/** The state of a process, the age of its last beat, and the time since it is steady, in seconds. */
const beats = [
  ['steady', -86_400, 60],
  ['steady', -86_400, 60],
  ['present', -86_400, 0],
  ['present', 4, 60],
  ['late', 9, 60],
  ['silent', 20, 60],
] as const

/** Returns one line for each task and account, as the database shows them. */
export async function readDatabase(
  pool: Pool,
  state: ModelState,
  newTaskIds: readonly string[],
): Promise<readonly string[]> {
  const values = [[...Object.keys(state.tasks), ...newTaskIds], Object.keys(state.deposits)]
  const { rows } = await pool.query<{ lines: readonly string[] }>({
    name: 'show-history',
    text: showSql,
    values,
  })
  return rows[0]?.lines ?? []
}

const showSql = `
  select array(
    select concat_ws(' ', id, case when task.task_id is null then 'gone' else concat_ws(' ',
        status, failure_cause, work_possible, attempts, coalesce(open_attempt, 0), answer_id,
        case when request is not null then 'request' end,
        case when exists (select from idempotency_key k where k.task_id = id) then 'key' end,
        (select 'deliveries=' || count(*) from webhook_delivery d where d.task_id = id),
        (select string_agg(n || ':' || coalesce(class, 'open'), ',' order by n) from attempt a where a.task_id = id))
      end,
      (select string_agg(upload_id || case when sweep_after = 'infinity' then '=kept'
          when sweep_after > now() then '=later' else '=due' end, ',' order by upload_id collate "C")
        from upload u where u.task_id = id),
      (select string_agg(kind || '=' || credits, ',' order by entry_id) from ledger l where l.task_id = id))
    from unnest($1::text[]) with ordinality as known (id, place) left join task on task_id = id order by place
  ) || array(
    select concat_ws(' ', account_id, available, held, spent,
      (select string_agg(used::text, ',' order by starts_at) from budget_use where key_id = 'key-' || account_id))
    from account_balance where account_id = any($2::text[]) order by account_id
  ) as lines`

/** The lines of `readDatabase` that the model expects. */
export function linesOf(state: ModelState): readonly string[] {
  const taskLines = Object.entries(state.tasks).map(([id, task]) => {
    const {
      status,
      attempts,
      uploads,
      ledger,
      cause,
      isWorkPossible,
      answerId,
      hasRequest,
      hasKey,
    } = task
    const shown = [
      status !== 'live' ? status : attempts.length > 0 ? 'processing' : 'queued',
      cause,
      isWorkPossible ? 't' : 'f',
      attempts.length,
      openOf(task),
      answerId,
      hasRequest ? 'request' : '',
      hasKey ? 'key' : '',
      `deliveries=${deliveriesOf(task)}`,
      attempts.map((attempt, index) => `${index + 1}:${attempt.class}`).join(','),
    ]
    const files = Object.entries(uploads).map((pair) => pair.join('='))
    return [id, ...(status === 'gone' ? ['gone'] : shown), files.sort().join(','), ledger]
      .filter((part) => part !== '')
      .join(' ')
  })
  const accountLines = Object.keys(state.deposits).map((account) => {
    const { available, held, spent, used, submitted } = moneyOf(state, account)
    return `${account} ${available} ${held} ${spent} ${submitted},${used},${submitted}`
  })
  return [...taskLines, ...accountLines]
}

/** The first account hears of failures, the second of nothing, and the third of every end. */
function deliveriesOf({ account, status }: ModelTask): number {
  if (status === 'live' || account.startsWith('account1')) return 0
  return status === 'failed' || account.startsWith('account2') ? 1 : 0
}

/** Locks a row, so that statements wait for it. Returns the function that frees it after some milliseconds. */
export async function hold(
  pool: Pool,
  state: ModelState,
  what: 'task' | 'channel' | 'balance' | 'cooldown',
  taskId: string,
) {
  const values = {
    task: [taskId],
    balance: Object.keys(state.deposits),
    channel: Object.keys(state.paused),
    cooldown: Object.keys(state.paused),
  }[what]
  const key = { task: 'task_id', balance: 'account_id', channel: 'name', cooldown: 'channel' }[what]
  const client = await pool.connect()
  await client.query('begin')
  await client.query(
    `select from ${what} where ${key} = any($1::text[]) order by ${key} for update`,
    [values],
  )
  return async () => {
    await client.query('select pg_sleep(0.002)')
    await client.query('commit')
    client.release()
  }
}
