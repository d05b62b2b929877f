import type { Pool } from 'pg'
import type { Channel } from '../../domain/upstream/channel.ts'
import { isoSql } from '../isoSql.ts'

/** Who waits for what, with the names of the JSON. Times are ISO 8601. */
export type Queue = {
  readonly at: string
  /** The accounts with live tasks, that of the oldest task first: 100 at most. */
  readonly accounts: readonly {
    readonly account: string
    readonly waiting: number
    readonly calling: number
    readonly oldest_created_at: string
  }[]
  readonly channels: readonly {
    readonly channel: string
    readonly in_flight: number
    readonly paused: boolean
    readonly cooldown_until: string | null
  }[]
  /** The oldest live tasks: 100 at most. */
  readonly data: readonly {
    readonly task_id: string
    readonly account: string
    readonly model: string
    readonly status: 'queued' | 'processing'
    readonly created_at: string
    readonly attempts: number
    readonly waiting_for: WaitingFor
  }[]
}

/**
 * What a task waits for.
 * - `answer`: a call is under way.
 * - `backoff`: the pause after a call with an unknown outcome.
 * - `worker`: a channel of the family may be called now.
 * - `place`, `slow_start`, `cooldown`, `resume`: what keeps calls of the model from every channel of the family: its
 *   places are taken, few calls at once after a cooldown, a cooldown, a pause. Where channels differ, the first of these.
 * - `channel`: the family has no channel.
 */
export type WaitingFor =
  | 'answer'
  | 'backoff'
  | 'worker'
  | 'place'
  | 'slow_start'
  | 'cooldown'
  | 'resume'
  | 'channel'

/** Reads the live tasks and the channels from one snapshot. `channels` are those of the operator's file. */
export async function readQueue(pool: Pool, channels: readonly Channel[]): Promise<Queue> {
  const { rows } = await pool.query<{ queue: Queue }>({
    name: 'read-queue',
    text: queueSql,
    values: [
      channels.map(({ name }) => name),
      channels.map(({ family }) => family),
      channels.map(({ concurrencyMax }) => concurrencyMax),
    ],
  })
  if (rows[0] === undefined) throw new Error('Bug: a select of constants returned no row')
  return rows[0].queue
}

/** The bars of the channels are read once for each model. A pause after an unknown outcome takes 38 s at most. */
const queueSql = `
  with live as materialized (
    select task_id, account_id, family, model, status, created_at, attempts, open_attempt
    from task where status in ('queued', 'processing')
  ), oldest as materialized (
    select * from live order by created_at, task_id limit 100
  ), barred as materialized (
    select family, model, min(case bar
        when 'full' then 2 when 'slow_start' then 3 when 'cooldown' then 4 when 'paused' then 5 else 1
      end) as rank
    from (select distinct family, model from oldest where open_attempt is null) asked
      join unnest($1::text[], $2::text[], $3::integer[]) as each (name, of_family, places)
        on of_family = family,
      lateral channel_bar(name, model, places)
    group by family, model
  )
  select json_build_object(
    'at', ${isoSql('now()', 'MS')},
    'accounts', (select coalesce(json_agg(a order by oldest_created_at, account), '[]') from (
      select account.name as account, count(*) filter (where open_attempt is null) as waiting,
        count(*) filter (where open_attempt is not null) as calling,
        ${isoSql('min(live.created_at)', 'MS')} as oldest_created_at
      from live join account using (account_id) group by account.name
      order by min(live.created_at) limit 100) a),
    'channels', (select coalesce(json_agg(c order by channel), '[]') from (
      select name as channel, paused_at is not null as paused,
        (select count(*) from attempt where channel = name and closed_at is null
          and lease_until > now()) as in_flight,
        (select ${isoSql('max(until_at)', 'MS')} from cooldown
          where channel = name and until_at > now()) as cooldown_until
      from channel) c),
    'data', (select coalesce(json_agg(json_build_object('task_id', task_id, 'account', account.name,
        'model', model, 'status', status, 'created_at', ${isoSql('oldest.created_at', 'MS')},
        'attempts', attempts, 'waiting_for', case
          when open_attempt is not null then 'answer'
          when exists (select from attempt where attempt.task_id = oldest.task_id and n = attempts
            and class = 'unknown' and closed_at > now() - interval '38 seconds') then 'backoff'
          else coalesce((array['worker', 'place', 'slow_start', 'cooldown', 'resume'])[rank], 'channel')
        end) order by oldest.created_at, task_id), '[]')
      from oldest join account using (account_id) left join barred using (family, model))
  ) as queue`
