import type { Pool } from 'pg'

/** The value of one gauge of the installation, with its labels. The gauges say nothing about what has ended. */
export type GaugeValue = {
  readonly gauge: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reads the values of the gauges, when Prometheus asks for the metrics. */
export async function sampleState(pool: Pool): Promise<readonly GaugeValue[]> {
  const { rows } = await pool.query<GaugeValue>({ name: 'sample-state', text: stateSql })
  return rows
}

/** Live tasks are found by a partial index. */
const stateSql = `
  with live as materialized (
    select status, created_at, credits from task where status in ('queued', 'processing')
  ), of_status as (
    select json_build_object('status', each.status) as labels, count(created_at) as count,
      coalesce(extract(epoch from now() - min(created_at)), 0) as age
    from (values ('queued'), ('processing')) each (status) left join live using (status) group by each.status
  ), pending as (
    select count(*) as count, coalesce(extract(epoch from now() - min(created_at)), 0) as age
    from webhook_delivery where status = 'pending'
  ), sample (gauge, labels, value) as (
    select 'darkroom_tasks', labels, count from of_status
    union all select 'darkroom_oldest_task_age_seconds', labels, age from of_status
    union all select 'darkroom_credits_held', '{}', coalesce(sum(credits), 0) from live
    union all select 'darkroom_holds_open', '{}', count(*) from live where credits > 0
    union all select 'darkroom_channel_paused', json_build_object('channel', name), (paused_at is not null)::int
      from channel
    union all select 'darkroom_channel_open_attempts', json_build_object('channel', name), (
        select count(*) from attempt where channel = name and closed_at is null and lease_until > now())
      from channel
    union all select 'darkroom_cooldown_seconds', json_build_object('channel', channel, 'model', model),
        extract(epoch from until_at - now())
      from cooldown where until_at > now()
    union all select 'darkroom_webhooks_failing', '{}', count(*) from webhook
      where failing_since is not null and status = 'active'
    union all select 'darkroom_webhook_deliveries_pending', '{}', count from pending
    union all select 'darkroom_webhook_oldest_pending_seconds', '{}', age from pending
    union all select 'darkroom_webhook_first_try_late_seconds', '{}',
        coalesce(extract(epoch from now() - min(first_due)), 0)
      from webhook w cross join lateral (
        select min(next_attempt_at) as first_due from webhook_delivery d
        where d.webhook_id = w.webhook_id and status = 'pending' and tries = 0
          and next_attempt_at < now()) each
      where failing_since is null
  )
  select gauge, labels, value::float8 from sample`
