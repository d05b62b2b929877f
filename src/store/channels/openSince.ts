import type { Pool } from 'pg'
import { withTransaction } from '../connection/transaction.ts'

/**
 * Moves `channel.open_since` up to the oldest open attempt of each channel, so that the gate's count of open
 * attempts stays short. The channels are locked first, in the order of their names: an attempt that is opened
 * later gets a later time. Nothing breaks when this does not run for a while; the count only takes longer.
 *
 * The bound stays ten seconds behind, so that a small step back of PostgreSQL's clock hides no attempt. A bound
 * in the future, after a large step, is computed from all attempts.
 */
export async function moveOpenSince(pool: Pool): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('select from channel order by name for update')
    await client.query({ name: 'move-open-since', text: moveSql })
  })
}

/** Writes only when the bound moves by seconds, so that the row of a quiet channel stays as it is. */
const moveSql = `
  with oldest as (
    select name, open_since, coalesce((
        select min(opened_at) from attempt
        where attempt.channel = channel.name and closed_at is null and lease_until > clock_timestamp()
          and opened_at >= case when open_since > clock_timestamp() then '-infinity' else open_since end
      ), clock_timestamp()) - interval '10 seconds' as since
    from channel
  )
  update channel set open_since = oldest.since from oldest
  where channel.name = oldest.name
    and (oldest.since > channel.open_since + interval '5 seconds'
      or channel.open_since > clock_timestamp())`
