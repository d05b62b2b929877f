import type { Pool } from 'pg'
import { contractModels } from '../../domain/models/models.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { queue } from '../../schema/operators/operatorOverview.ts'
import { isoSql } from '../isoSql.ts'

/** Who waits for what. */
export type Queue = Omit<AnswerOf<typeof queue>, 'object'>

/** Reads the live tasks and the channels from one snapshot. `channels` are those of the operator's file. */
export async function readQueue(pool: Pool, channels: readonly Channel[]): Promise<Queue> {
  const { rows } = await pool.query<{ queue: Queue }>({
    name: 'read-queue',
    text: queueSql,
    values: [
      channels.map(({ name }) => name),
      channels.map(({ family }) => family),
      channels.map(({ concurrencyMax }) => concurrencyMax),
      channels.map(({ models }) => Object.keys(models).join(' ')),
      contractModels,
    ],
  })
  if (rows[0] === undefined) throw new Error('Bug: a select of constants returned no row')
  return rows[0].queue
}

/** The bars of the channels are read once for each model. A pause after an unknown outcome, or an error
 * that is free, takes 38 s at most, unless the upstream asked for more. */
const queueSql = `
  with live as materialized (
    select task_id, account_id, family, model, status, created_at, attempts, open_attempt
    from task where status in ('queued', 'processing')
  ), oldest as materialized (
    select * from live order by created_at, task_id limit 100
  ), barred as materialized (
    select family, model, min(case bar
        when 'full' then 2 when 'cooldown' then 3 when 'paused' then 4 else 1
      end) as rank
    from (select distinct family, model from oldest where open_attempt is null) asked
      join unnest($1::text[], $2::text[], $3::integer[], $4::text[]) as each (name, of_family, places, listed)
        on of_family = family and (model = any ($5) or model = any (string_to_array(listed, ' '))),
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
    'data', (select coalesce(json_agg(json_build_object('task_id', oldest.task_id, 'account', account.name,
        'model', oldest.model, 'status', status, 'created_at', ${isoSql('oldest.created_at', 'MS')},
        'attempts', attempts, 'waiting_for', case
          when open_attempt is not null then 'answer'
          when last.closed_at > now() - interval '38 seconds'
            and (class = 'unknown' or class = 'refused' and reason = 'server_error') then 'backoff'
          when class = 'declined' and rank = 1 then 'declined'
          else coalesce((array['worker', 'place', 'cooldown', 'resume'])[rank], 'channel')
        end) order by oldest.created_at, oldest.task_id), '[]')
      from oldest join account using (account_id) left join barred on barred.family = oldest.family and barred.model = oldest.model
        left join attempt last on last.task_id = oldest.task_id and last.n = attempts)
  ) as queue`
