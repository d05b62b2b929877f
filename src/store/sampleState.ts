import type { Pool } from 'pg'
import type { StateSample } from '../domain/ports/stateSample.ts'

/** Returns the values of the metrics' gauges, read by one statement. */
export async function sampleState(pool: Pool): Promise<StateSample> {
  const { rows } = await pool.query<{ sample: StateSample }>({
    name: 'sample-state',
    text: sampleSql,
  })
  const sample = rows[0]?.sample
  if (sample === undefined) throw new Error('Bug: a select of constants returned no row')
  return sample
}

/**
 * Reads all gauges without a scan of `task`, because this table keeps every record for days. Live tasks are
 * found by their partial index. Ended tasks are counted in indexes alone. A succeeded task counts until its
 * image expires.
 */
export const sampleSql = `
  with live as materialized (
    select status, created_at, credits from task where status in ('queued', 'processing')
  ), kept as materialized (
    select count(*) as count, coalesce(sum(asset_bytes), 0) as bytes
    from task where status = 'succeeded' and expires_at > now()
  )
  select json_build_object(
    'tasks', (select coalesce(json_agg(t), '[]') from (
      select status, count(*) as count,
        extract(epoch from now() - min(created_at)) as "oldestSeconds"
      from live group by status
      union all select 'succeeded', count, 0 from kept
      union all select 'failed', count(*), 0 from task where status = 'failed') t),
    'creditsHeld', (select coalesce(sum(held), 0) from balance),
    'holdsOpen', (select count(*) from live where credits > 0),
    'blobBytes', (select bytes from kept)
      + (select coalesce(sum(bytes), 0) from upload where kind = 'input'),
    'channels', (select coalesce(json_agg(c), '[]') from (
      select name as channel, paused_at is not null as paused,
        (select count(*) from attempt a where a.channel = name and closed_at is null
          and lease_until > now()) as open
      from channel) c),
    'cooldowns', (select coalesce(json_agg(d), '[]') from (
      select channel, model, extract(epoch from until_at - now()) as seconds
      from cooldown where until_at > now()) d),
    'webhooks', json_build_object(
      'failing', (select count(*) from webhook_health join webhook using (webhook_id)
        where failing_since is not null and status = 'active'),
      'pending', (select count(*) from webhook_delivery where status = 'pending'),
      'oldestSeconds', (select coalesce(extract(epoch from now() - min(created_at)), 0)
        from webhook_delivery where status = 'pending'),
      'firstLateSeconds', (select coalesce(greatest(0, extract(epoch from now() - min(first_due))), 0)
        from webhook_health h cross join lateral (
          select min(next_attempt_at) as first_due from webhook_delivery d
          where d.webhook_id = h.webhook_id and status = 'pending' and tries = 0) each
        where failing_since is null))
  ) as sample`
