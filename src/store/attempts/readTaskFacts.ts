import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { FailureCause, TaskFailure, TaskFailureCode } from '../../domain/failure.ts'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import type { ChannelState, PastAttempt, TaskFacts } from '../../domain/gate/taskFacts.ts'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { Route } from '../../domain/tasks/imageRequest.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { OutcomeClass, OutcomeReason } from '../../domain/upstream/upstreamCall.ts'

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
  if (row.isOver) return { kind: 'over', end: endOf(row) }
  const { route, family, attempts, states, nowMs, createdAtMs, deadlineAtMs, hardEndAtMs } = row
  const open = attempts.find((attempt) => attempt.class === null)
  const ordered = orderChannels(
    channels.filter((channel) => channel.family === family),
    random,
  )
  return {
    kind: 'live',
    facts: {
      nowMs,
      createdAtMs,
      deadlineAtMs,
      hardEndAtMs,
      accountId: row.accountId,
      model: row.model,
      sync: isSyncRoute(route),
      requestBytes: row.requestBytes,
      attempts: row.opened,
      past: attempts.flatMap(pastAttempt),
      ...defined({ open }),
      channels: ordered.map((channel) => stateOf(channel, states)),
    },
  }
}

function endOf(row: FactsRow): 'succeeded' | TaskFailure {
  const { failureCode, failureCause, workPossible, retryAfterMs } = row
  if (failureCode === null || failureCause === null) return 'succeeded'
  return { code: failureCode, cause: failureCause, workPossible, ...defined({ retryAfterMs }) }
}

function pastAttempt(attempt: AttemptRow): readonly PastAttempt[] {
  if (attempt.class === null) return []
  const { n, channel, answerId, reason, closedAtMs, retryAfterMs } = attempt
  return [
    {
      n,
      channel,
      answerId,
      class: attempt.class,
      reason,
      closedAtMs,
      ...defined({ retryAfterMs }),
    },
  ]
}

/** A channel without a row counts as paused, until a worker has inserted the row. */
function stateOf(channel: Channel, states: FactsRow['states']): ChannelState {
  const state = states.find(({ name }) => name === channel.name)
  if (state === undefined) return { channel, bar: 'paused' }
  const { bar, untilAtMs, fault } = state
  return { channel, ...defined({ bar, untilAtMs, fault }) }
}

const factsSql = `
  select completed_at is not null as "isOver", account_id as "accountId", route, family, model,
    attempts as opened, coalesce(octet_length(request), 0) as "requestBytes",
    failure_code as "failureCode", failure_cause as "failureCause", work_possible as "workPossible",
    failure_retry_after_ms::float8 as "retryAfterMs",
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
    (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
    (extract(epoch from deadline_at) * 1000)::float8 as "deadlineAtMs",
    (extract(epoch from hard_end_at) * 1000)::float8 as "hardEndAtMs",
    (select coalesce(json_agg(json_build_object(
        'n', n, 'channel', channel, 'answerId', answer_id, 'class', class, 'reason', reason,
        'closedAtMs', extract(epoch from closed_at) * 1000, 'retryAfterMs', retry_after_ms)
        order by n), '[]')
      from attempt where attempt.task_id = task.task_id) as attempts,
    (select coalesce(json_agg(json_build_object(
        'name', name, 'bar', bar, 'untilAtMs', extract(epoch from until_at) * 1000, 'fault', fault)), '[]')
      from unnest($2::text[], $3::text[], $4::integer[]) as asked (name, of_family, places),
        lateral channel_bar(name, task.model, places)
      where of_family = task.family and task.completed_at is null) as states
  from task where task_id = $1`

type AttemptRow = { readonly n: number; readonly channel: string; readonly answerId: string } & (
  | { readonly class: null }
  | {
      readonly class: OutcomeClass
      readonly reason: OutcomeReason
      readonly closedAtMs: number
      readonly retryAfterMs: number | null
    }
)

type FactsRow = {
  readonly isOver: boolean
  readonly accountId: string
  readonly route: Route
  readonly family: Family
  readonly model: ModelId
  readonly opened: number
  readonly requestBytes: number
  readonly failureCode: TaskFailureCode | null
  readonly failureCause: FailureCause | null
  readonly workPossible: boolean
  readonly retryAfterMs: number | null
  readonly nowMs: number
  readonly createdAtMs: number
  readonly deadlineAtMs: number
  readonly hardEndAtMs: number
  readonly attempts: readonly AttemptRow[]
  readonly states: readonly {
    readonly name: string
    readonly bar: NonNullable<ChannelState['bar']> | null
    readonly untilAtMs: number | null
    readonly fault: boolean | null
  }[]
}
