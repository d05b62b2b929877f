import type { Pool } from 'pg'

/**
 * Ties this database to one blob store for ever. The first process records the store's id, and every later
 * process must use the same store. Otherwise two processes could use different stores and not find each
 * other's images. Throws when the store is a different one. The message names both ids.
 */
export async function claimStoreId(pool: Pool, storeId: string): Promise<void> {
  await pool.query(
    `insert into installation (name, value) values ('store_id', $1) on conflict (name) do nothing`,
    [storeId],
  )
  const known = await readStoreId(pool)
  if (known === storeId) return
  throw new Error(
    `BLOB_STORE is store ${storeId}, but the images of this database are in store ${known}. ` +
      'All processes must use one store.',
  )
}

/**
 * Returns the id of the blob store that belongs to this database. Returns `undefined` when no process has
 * recorded an id yet.
 */
export async function readStoreId(pool: Pool): Promise<string | undefined> {
  return valueOf(pool, 'store_id')
}

/**
 * Returns the secret under which vendors are told of accounts. It is as old as the database and never changes, so
 * that an account keeps its identifier.
 */
export async function readSafetySecret(pool: Pool): Promise<string> {
  const secret = await valueOf(pool, 'safety_secret')
  if (secret === undefined) throw new Error('The table installation has no row safety_secret')
  return secret
}

async function valueOf(pool: Pool, name: 'store_id' | 'safety_secret') {
  const { rows } = await pool.query<{ value: string }>(
    'select value from installation where name = $1',
    [name],
  )
  return rows[0]?.value
}
