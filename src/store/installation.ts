import type { Pool } from 'pg'

/**
 * Ties this database to one blob store, for good: the first to come writes the store's id, everybody
 * else must have the same. Throws with what is wrong.
 */
export async function claimStoreId(pool: Pool, storeId: string): Promise<void> {
  await pool.query(
    `insert into installation (name, value) values ('store_id', $1) on conflict (name) do nothing`,
    [storeId],
  )
  const known = await readStoreId(pool)
  if (known === storeId) return
  throw new Error(
    `BLOB_STORE is store ${storeId}, but this database's images lie in store ${known}. ` +
      'All processes must use one store.',
  )
}

/** The id of the store that this database's images lie in; `undefined` before the first process came. */
export async function readStoreId(pool: Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ value: string }>(
    `select value from installation where name = 'store_id'`,
  )
  return rows[0]?.value
}
