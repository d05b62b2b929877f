import type { Pool } from 'pg'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { overview } from '../../schema/operators/operatorOverview.ts'
import { isoSql } from '../isoSql.ts'

/** What runs now. */
export type Overview = Omit<AnswerOf<typeof overview>, 'object' | 'days'>

/** Reads what runs now, from one snapshot. It counts live tasks, and the calls of one hour by the index `attempt_closed`. */
export async function readOverview(pool: Pool): Promise<Overview> {
  const { rows } = await pool.query<{ overview: Overview }>({
    name: 'read-overview',
    text: overviewSql,
  })
  if (rows[0] === undefined) throw new Error('Bug: a select of constants returned no row')
  return rows[0].overview
}

const overviewSql = `
  with live as materialized (
    select task_id, account_id, model, status, created_at, open_attempt
    from task where status in ('queued', 'processing')
  )
  select json_build_object(
    'at', ${isoSql('now()', 'MS')},
    'tasks', (select json_build_object(
        'queued', count(*) filter (where status = 'queued'),
        'processing', count(*) filter (where status = 'processing')) from live),
    'oldest_waiting', (
      select json_build_object('task_id', task_id, 'account', account.name, 'model', model,
        'created_at', ${isoSql('live.created_at', 'MS')})
      from live join account using (account_id) where open_attempt is null
      order by live.created_at, task_id limit 1),
    'calls', (select coalesce(json_agg(c order by channel, outcome), '[]') from (
      select channel, class as outcome, count(*) as count from attempt
      where closed_at > now() - interval '1 hour' group by channel, class) c),
    'paused', (select coalesce(json_agg(p order by channel), '[]') from (
      select name as channel, ${isoSql('paused_at', 'MS')} as paused_at, pause_reason as reason
      from channel where paused_at is not null) p),
    'cooldowns', (select coalesce(json_agg(d order by channel, model), '[]') from (
      select channel, model, ${isoSql('until_at', 'MS')} as until
      from cooldown where until_at > now()) d),
    'webhooks_in_trouble', (select coalesce(json_agg(w order by failing_since), '[]') from (
      select webhook_id, account.name as account, url, ${isoSql('failing_since', 'MS')} as failing_since,
        (select count(*) from webhook_delivery d
          where d.webhook_id = webhook.webhook_id and d.status = 'pending') as pending
      from webhook join account using (account_id)
      where failing_since is not null and webhook.status = 'active'
      order by webhook.failing_since limit 100) w)
  ) as overview`
