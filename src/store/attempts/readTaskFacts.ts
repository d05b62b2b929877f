import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import type { ChannelState, OpenCall, PastAttempt, TaskFacts } from '../../domain/gate/taskFacts.ts'
import type { ModelId } from '../../domain/models/models.ts'
import type { Route } from '../../domain/tasks/imageRequest.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import { channelsFor } from '../../domain/upstream/channel.ts'
import { failureSql } from '../taskRow.ts'
import { lostSql } from './beatStore.ts'

export type FactsDeps = {
  readonly pool: Pool
  /** The channels of all families, in the operator's order. */
  readonly channels: readonly Channel[]
  /** Returns a random number in [0, 1). */
  readonly random: () => number
}

export type FactsResult = { readonly kind: 'live'; readonly facts: TaskFacts } | Over

/** A task that has ended. `end` is absent when there is no such task, or it is purged. */
export type Over = { readonly kind: 'over'; readonly end?: 'succeeded' | TaskFailure }

/**
 * Reads what decides the next step of a task, without locks. Every transition checks its own conditions when it changes
 * the row, so that facts which are out of date do no harm.
 */
export async function readTaskFacts(deps: FactsDeps, taskId: string): Promise<FactsResult> {
  const { pool, channels, random } = deps
  const { rows } = await pool.query<FactsRow>({
    name: 'task-facts',
    text: factsSql,
    values: [
      taskId,
      channels.map(({ name }) => name),
      channels.map(({ family }) => family),
      channels.map(({ concurrencyMax }) => concurrencyMax),
    ],
  })
  const [row] = rows
  if (row === undefined) return { kind: 'over' }
  const { isOver, failure, route, calls, states, ...facts } = row
  if (isOver) return { kind: 'over', end: failure ?? 'succeeded' }
  const open = calls.find((call): call is OpenCall => !('class' in call))
  const able = channelsFor(channels, facts)
  return {
    kind: 'live',
    facts: {
      ...facts,
      sync: isSyncRoute(route),
      past: calls.filter((call) => 'class' in call),
      ...defined({ open }),
      channels: withStates(orderChannels(able, random), states),
    },
  }
}

type States = Readonly<Record<string, Omit<ChannelState, 'channel'>>>

/** A channel without a row counts as paused, until a worker has inserted the row. */
function withStates(channels: readonly Channel[], states: States): readonly ChannelState[] {
  return channels.map((channel) => ({ channel, ...(states[channel.name] ?? { bar: 'paused' }) }))
}

export type ChannelsNow = Pick<TaskFacts, 'nowMs' | 'channels'>

/** Reads what keeps a model from the channels of its family now, without a task. */
export async function readChannelsNow(
  pool: Pool,
  channels: readonly Channel[],
  model: ModelId,
): Promise<ChannelsNow> {
  const { rows } = await pool.query<{ nowMs: number; states: States }>({
    name: 'channels-now',
    text: `select ${nowMsSql}, ${statesSql} as states
      from unnest($1::text[], $2::integer[]) as asked (name, places), lateral channel_bar(name, $3, places)`,
    values: [
      channels.map(({ name }) => name),
      channels.map(({ concurrencyMax }) => concurrencyMax),
      model,
    ],
  })
  const [row] = rows
  if (row === undefined) throw new Error('Bug: an aggregate returned no row')
  return { nowMs: row.nowMs, channels: withStates(channels, row.states) }
}

const nowMsSql = '(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"'

/** The answers of `channel_bar` as one object, by the names of the channels. */
const statesSql = `coalesce(json_object_agg(name, json_strip_nulls(json_build_object(
        'bar', bar, 'untilAtMs', extract(epoch from until_at) * 1000, 'fault', fault))), '{}')`

const factsSql = `
  select completed_at is not null as "isOver", ${failureSql} as failure, account_id as "accountId", route, family,
    model, attempts, coalesce(octet_length(request), 0) as "requestBytes",
    ${nowMsSql},
    (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
    (extract(epoch from deadline_at) * 1000)::float8 as "deadlineAtMs",
    (extract(epoch from hard_end_at) * 1000)::float8 as "hardEndAtMs",
    (select coalesce(json_agg(json_strip_nulls(json_build_object(
        'n', n, 'channel', channel, 'answerId', answer_id, 'class', class, 'reason', reason,
        'lost', case when closed_at is null then ${lostSql} end,
        'openedAtMs', extract(epoch from opened_at) * 1000, 'closedAtMs', extract(epoch from closed_at) * 1000, 'retryAfterMs', retry_after_ms))
        order by n), '[]')
      from attempt where attempt.task_id = task.task_id) as calls,
    (select ${statesSql}
      from unnest($2::text[], $3::text[], $4::integer[]) as asked (name, of_family, places),
        lateral channel_bar(name, task.model, places)
      where of_family = task.family and task.completed_at is null) as states
  from task where task_id = $1`

type FactsRow = Omit<TaskFacts, 'sync' | 'past' | 'open' | 'channels'> & {
  readonly isOver: boolean
  readonly failure: TaskFailure | null
  readonly route: Route
  readonly calls: readonly (PastAttempt | OpenCall)[]
  readonly states: States
}
