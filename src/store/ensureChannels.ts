import type { Pool } from 'pg'

/** Every configured channel has a row: the row is what its concurrency and its pause are locked by. */
export async function ensureChannels(pool: Pool, names: readonly string[]): Promise<void> {
  await pool.query(
    'insert into channel (name) select unnest($1::text[]) on conflict (name) do nothing',
    [names],
  )
}
