import type { Pool } from 'pg'
import type { ApiKey } from '../domain/account.ts'
import type { AccountStore } from '../domain/accountStore.ts'

type KeyRow = {
  readonly keyId: string
  readonly prefix: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
}

/** Writes a key down, by the hash of its secret. */
export async function createKey(
  pool: Pool,
  key: Parameters<AccountStore['createKey']>[0],
): Promise<ApiKey> {
  const { keyId, accountId, prefix, pepperId, secretHash, expiresInMs } = key
  const { rows } = await pool.query<KeyRow>(
    `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 millisecond')
     returning ${keyColumns}`,
    [keyId, accountId, prefix, pepperId, Buffer.from(secretHash), expiresInMs ?? null],
  )
  if (rows[0] === undefined) throw new Error('Bug: an insert returned no row')
  return keyOf(rows[0])
}

/** Oldest first. */
export async function listKeys(pool: Pool, accountId: string): Promise<readonly ApiKey[]> {
  const { rows } = await pool.query<KeyRow>(
    `select ${keyColumns} from api_key where account_id = $1 order by created_at, key_id`,
    [accountId],
  )
  return rows.map(keyOf)
}

/** The clock, not the transaction's start: a key is refused from the moment this returns. */
export async function revokeKey(pool: Pool, keyId: string): Promise<ApiKey | undefined> {
  const { rows } = await pool.query<KeyRow>(
    `update api_key set revoked_at = coalesce(revoked_at, clock_timestamp())
     where key_id = $1 returning ${keyColumns}`,
    [keyId],
  )
  return rows[0] && keyOf(rows[0])
}

function keyOf({ expiresAtMs, revokedAtMs, ...row }: KeyRow): ApiKey {
  return {
    ...row,
    ...(expiresAtMs === null ? {} : { expiresAtMs }),
    ...(revokedAtMs === null ? {} : { revokedAtMs }),
  }
}

const keyColumns = `key_id as "keyId", prefix,
  (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
  (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs",
  (extract(epoch from revoked_at) * 1000)::float8 as "revokedAtMs"`
