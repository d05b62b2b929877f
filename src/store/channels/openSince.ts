import type { Pool } from 'pg'
import { withTransaction } from '../connection/transaction.ts'

/**
 * Moves `channel.open_since` up to the oldest open attempt of each channel. The gate counts only attempts that were
 * opened since then, so it reads few rows for this count. The gate locks a channel when it opens an attempt. This
 * function locks the channels too, so no attempt can be committed afterwards with a time before the new `open_since`.
 * If this function does not run for a while, the gate still counts right and only takes longer.
 *
 * `open_since` stays ten seconds behind, so that no attempt is missed when PostgreSQL's clock was set back a little.
 * After a large step back `open_since` lies in the future. Then it is computed again from all open attempts.
 */
export async function moveOpenSince(pool: Pool): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('select from channel order by name for update')
    await client.query({ name: 'move-open-since', text: moveSql })
  })
}

/**
 * Writes only when `open_since` moves by more than five seconds, so that the row of a quiet channel stays as it is.
 */
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
