import type { Pool } from 'pg'

/** The state of the installation, for the gauges of the metrics. It says nothing about what has ended. */
export type StateSample = {
  readonly tasks: readonly {
    readonly status: string
    readonly count: number
    readonly oldestSeconds: number
  }[]
  readonly creditsHeld: number
  readonly holdsOpen: number
  readonly channels: readonly {
    readonly channel: string
    readonly paused: boolean
    readonly open: number
  }[]
  readonly cooldowns: readonly {
    readonly channel: string
    readonly model: string
    readonly seconds: number
  }[]
  readonly webhooks: {
    readonly failing: number
    readonly pending: number
    readonly firstLateSeconds: number
    readonly oldestSeconds: number
  }
}

/** Reads the values of the gauges, when Prometheus asks for the metrics. */
export async function sampleState(pool: Pool): Promise<StateSample> {
  const { rows } = await pool.query<{ sample: StateSample }>({
    name: 'sample-state',
    text: stateSql,
  })
  if (rows[0] === undefined) throw new Error('Bug: a select of constants returned no row')
  return rows[0].sample
}

/** Live tasks are found by a partial index. */
const stateSql = `
  with live as materialized (
    select status, created_at, credits from task where status in ('queued', 'processing')
  )
  select json_build_object(
    'tasks', (select coalesce(json_agg(t), '[]') from (
      select status, count(*) as count,
        extract(epoch from now() - min(created_at)) as "oldestSeconds"
      from live group by status) t),
    'creditsHeld', (select coalesce(sum(credits), 0) from live),
    'holdsOpen', (select count(*) from live where credits > 0),
    'channels', (select coalesce(json_agg(c), '[]') from (
      select name as channel, paused_at is not null as paused,
        (select count(*) from attempt a where a.channel = name and closed_at is null
          and lease_until > now()) as open
      from channel) c),
    'cooldowns', (select coalesce(json_agg(d), '[]') from (
      select channel, model, extract(epoch from until_at - now()) as seconds
      from cooldown where until_at > now()) d),
    'webhooks', json_build_object(
      'failing', (select count(*) from webhook where failing_since is not null and status = 'active'),
      'pending', (select count(*) from webhook_delivery where status = 'pending'),
      'oldestSeconds', (select coalesce(extract(epoch from now() - min(created_at)), 0)
        from webhook_delivery where status = 'pending'),
      'firstLateSeconds', (select coalesce(extract(epoch from now() - min(first_due)), 0)
        from webhook w cross join lateral (
          select min(next_attempt_at) as first_due from webhook_delivery d
          where d.webhook_id = w.webhook_id and status = 'pending' and tries = 0
            and next_attempt_at < now()) each
        where failing_since is null))
  ) as sample`
