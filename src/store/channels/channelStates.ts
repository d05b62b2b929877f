import type { PoolClient } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { Cooldown } from '../../domain/gate/cooldown.ts'
import { takenAfterMs } from '../../domain/gate/cooldown.ts'
import type { ChannelState } from '../../domain/gate/taskFacts.ts'
import type { ModelId } from '../../domain/models/models.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { PlaceRequest } from './placeQueue.ts'
import { aheadSql, openCallsSql } from './placeQueue.ts'

/**
 * Locks the rows of these channels, then reads the state of the channels, which all workers share. Because of the
 * lock, no other transaction can open an attempt on them after the open attempts were counted. The rows are locked in
 * the order of their names, so that two transactions cannot deadlock. For most first calls the SQL function
 * `begin_first_calls` counts instead.
 *
 * Only the gate passes `request`. Without it, the queue for a place is not read, and `ahead` is 0.
 */
export async function lockChannelStates(
  client: PoolClient,
  channels: readonly Channel[],
  model: ModelId,
  request?: PlaceRequest,
): Promise<readonly ChannelState[]> {
  const names = channels.map((channel) => channel.name)
  await client.query({ name: 'lock-channels', text: lockSql, values: [names] })
  const { rows } = await client.query<ChannelStateRow>({
    name: 'channel-states',
    text: statesSql,
    values: [names, model, request?.taskId, request?.accountId, request?.sync],
  })
  return statesOf(channels, rows)
}

/** Returns the states of these channels by the rows that `channelStatesSql` returned for one task. */
export function statesOf(
  channels: readonly Channel[],
  rows: readonly ChannelStateRow[],
): readonly ChannelState[] {
  const byName = new Map(rows.map((row) => [row.name, row]))
  return channels.map((channel) => stateOf(channel, byName.get(channel.name)))
}

const lockSql = `select 1 from channel where name = any($1) order by name for update`

export type ChannelStateRow = {
  /** `null` in the only row of a task whose channels have no row. */
  readonly name: string | null
  readonly paused: boolean
  readonly inFlight: number
  readonly inFlightOfModel: number
  readonly asking: number
  readonly taken: number
  readonly ahead: number
  readonly untilMs: number | null
  readonly windowAtMs: number | null
  readonly granted: number | null
  readonly learned: number | null
  readonly refusals: number | null
  readonly slotAtMs: number | null
  readonly slotMs: number | null
  readonly takenAfterMs: number | null
}

function stateOf(channel: Channel, row: ChannelStateRow | undefined): ChannelState {
  const cooldown = row === undefined ? undefined : cooldownOf(row)
  return {
    channel,
    paused: row?.paused ?? false,
    inFlight: row?.inFlight ?? 0,
    inFlightOfModel: row?.inFlightOfModel ?? 0,
    open: { asking: row?.asking ?? 0, taken: row?.taken ?? 0 },
    ahead: row?.ahead ?? 0,
    ...defined({ cooldown }),
  }
}

function cooldownOf(row: ChannelStateRow): Cooldown | undefined {
  if (row.untilMs === null) return undefined
  return {
    untilMs: row.untilMs,
    ...defined({ windowAtMs: row.windowAtMs, takenAfterMs: row.takenAfterMs }),
    granted: row.granted ?? 0,
    learned: row.learned ?? 1,
    refusals: row.refusals ?? 0,
    slotAtMs: row.slotAtMs ?? row.untilMs,
    slotMs: row.slotMs ?? 0,
  }
}

/**
 * Returns a statement that reads the states of channels for tasks: a row for each task and channel, with the columns
 * of the task first. `asking` is a query of the tasks. It has the columns `channels` (their names), `model`, `taskId`,
 * `accountId` and `sync`. `placeQueue.ts` explains `open` and `ahead`.
 *
 * `asking` and `taken` count the model's open calls of the current window. A young call counts as `asking`: the
 * upstream may still refuse it. An old one counts as `taken`. The cooldown's `taken_after_ms` says from which age on
 * a call is old. See src/domain/gate/cooldown.ts.
 */
export function channelStatesSql(asking: string, columns: string): string {
  return `
  with asking as materialized (${asking}), open as (${openCallsSql})
  select ${columns} c.name, c.paused_at is not null as paused,
    calls."inFlight", calls."inFlightOfModel", calls.asking, calls.taken,
    ${aheadSql} as ahead,
    (extract(epoch from d.until_at) * 1000)::float8 as "untilMs",
    (extract(epoch from d.window_at) * 1000)::float8 as "windowAtMs",
    d.granted, d.learned, d.refusals,
    (extract(epoch from d.slot_at) * 1000)::float8 as "slotAtMs",
    d.slot_ms as "slotMs", d.taken_after_ms as "takenAfterMs"
  from asking left join channel c on c.name = any(asking.channels)
    left join cooldown d on d.channel = c.name and d.model = asking.model,
    lateral (
      select coalesce(d.taken_after_ms, ${takenAfterMs}) * interval '1 millisecond' as span) undecided,
    lateral (
      select count(*)::int as "inFlight",
        (count(*) filter (where a.model = asking.model))::int as "inFlightOfModel",
        (count(*) filter (where a.model = asking.model and a.opened_at >= d.window_at
          and a.opened_at > clock_timestamp() - undecided.span))::int as asking,
        (count(*) filter (where a.model = asking.model and a.opened_at >= d.window_at
          and a.opened_at <= clock_timestamp() - undecided.span))::int as taken
      from attempt a
      where a.channel = c.name and a.opened_at >= c.open_since and a.closed_at is null
        and a.lease_until > clock_timestamp()
    ) calls`
}

const statesSql = channelStatesSql(
  `select $1::text[] as channels, $2::text as model, $3::text as "taskId", $4::text as "accountId",
    $5::boolean as sync`,
  '',
)

/** Writes a cooldown, or deletes it when `cooldown` is `undefined`. The caller has locked the channel. */
export async function saveCooldown(
  client: PoolClient,
  key: { readonly channel: string; readonly model: string },
  cooldown: Cooldown | undefined,
): Promise<void> {
  if (cooldown === undefined) {
    await client.query('delete from cooldown where channel = $1 and model = $2', [
      key.channel,
      key.model,
    ])
    return
  }
  await client.query({
    name: 'save-cooldown',
    text: saveSql,
    values: [
      key.channel,
      key.model,
      cooldown.untilMs,
      cooldown.windowAtMs ?? null,
      cooldown.granted,
      cooldown.learned,
      cooldown.refusals,
      cooldown.slotAtMs,
      cooldown.slotMs,
      cooldown.takenAfterMs ?? null,
    ],
  })
}

const saveSql = `
  insert into cooldown (channel, model, until_at, window_at, granted, learned, refusals,
    slot_at, slot_ms, taken_after_ms)
  values ($1, $2, to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000), $5, $6, $7,
    to_timestamp($8::float8 / 1000), $9, $10)
  on conflict (channel, model) do update set
    until_at = excluded.until_at, window_at = excluded.window_at, granted = excluded.granted,
    learned = excluded.learned, refusals = excluded.refusals,
    slot_at = excluded.slot_at, slot_ms = excluded.slot_ms,
    taken_after_ms = excluded.taken_after_ms`
