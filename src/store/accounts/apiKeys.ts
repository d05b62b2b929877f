import type { Pool, PoolClient } from 'pg'
import type { Budget } from '../../domain/accounts/budget.ts'
import type { Caller } from '../../domain/accounts/account.ts'
import { defined } from '../../domain/defined.ts'
import type { ListPage } from '../../domain/lists/list.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { key } from '../../schema/operators/operatorKeys.ts'
import { isoSql } from '../isoSql.ts'
import type { Conditions, Page } from '../readPage.ts'
import { readPage } from '../readPage.ts'
import type { Row } from '../row.ts'

/** An API key without its secret, which is stored nowhere. */
export type KeyJson = AnswerOf<typeof key>

export type NewApiKey = {
  readonly keyId: string
  readonly accountId: string
  /** The first characters of the secret, so that people can tell keys apart. */
  readonly prefix: string
  /** The id of the pepper with which the secret was hashed. */
  readonly pepperId: string
  readonly secretHash: Uint8Array
  /** Time until the key expires, from PostgreSQL's now. Absent: the key does not expire. */
  readonly expiresInMs?: number
  readonly budget?: Budget
}

/** Inserts an API key. The database contains the hash of the key's secret, never the secret. */
export async function createKey(client: Pool | PoolClient, key: NewApiKey): Promise<KeyJson> {
  const { keyId, accountId, prefix, pepperId, secretHash, expiresInMs, budget } = key
  const { rows } = await client.query<KeyJson>(
    `insert into api_key (key_id, account_id, prefix, pepper_id, secret_hash, expires_at,
       budget_credits, budget_period)
     values ($1, $2, $3, $4, $5, now() + $6::float8 * interval '1 millisecond', $7, $8)
     returning ${keyColumns}`,
    [
      keyId,
      accountId,
      prefix,
      pepperId,
      Buffer.from(secretHash),
      expiresInMs ?? null,
      budget?.credits ?? null,
      budget?.period ?? null,
    ],
  )
  if (rows[0] === undefined) throw new Error('Bug: an insert returned no row')
  return rows[0]
}

/** Returns the keys of an account, newest first, including revoked and expired keys. */
export async function listKeys(
  pool: Pool,
  accountId: string,
  page: Page = {},
): Promise<ListPage<KeyJson>> {
  const ofAccount: Conditions = [['account_id = ?', accountId]]
  return readPage<KeyJson>(pool, page, {
    table: 'api_key',
    order: ['api_key.created_at', 'key_id'],
    direction: 'desc',
    scope: ofAccount,
    filter: ofAccount,
    select: (where, newest) => `select ${keyColumns} from api_key ${where} ${newest}`,
  })
}

/** Returns a key, or `undefined` when there is no such key. */
export async function readKey(
  client: Pool | PoolClient,
  keyId: string,
): Promise<KeyJson | undefined> {
  const sql = `select ${keyColumns} from api_key where key_id = $1`
  const { rows } = await client.query<KeyJson>(sql, [keyId])
  return rows[0]
}

/**
 * Revokes a key and returns it. Returns `undefined` when there is no such key. A key that was revoked before
 * keeps its time of revocation. The statement uses `clock_timestamp()` instead of `now()`, so that the key is
 * refused as soon as this function returns.
 */
export async function revokeKey(
  client: Pool | PoolClient,
  keyId: string,
): Promise<KeyJson | undefined> {
  const { rows } = await client.query<KeyJson>(
    `update api_key set revoked_at = coalesce(revoked_at, clock_timestamp())
     where key_id = $1 returning ${keyColumns}`,
    [keyId],
  )
  return rows[0]
}

const keyColumns = `key_id, (select name from account a where a.account_id = api_key.account_id) as account, prefix,
  pepper_id, ${isoSql('api_key.created_at', 'MS')} as created_at, ${isoSql('expires_at', 'MS')} as expires_at,
  ${isoSql('revoked_at', 'MS')} as revoked_at, budget_credits || '/' || budget_period as budget,
  case when budget_period is not null then coalesce((
    select used from budget_use u, budget_window(budget_period, now()) w
    where u.key_id = api_key.key_id and u.starts_at = w.starts_at), 0) end as used,
  (select ${isoSql('ends_at', 'MS')} from budget_window(budget_period, now())) as renews_at`

/**
 * Returns the caller whose secret has one of these hashes, one hash for each pepper. PostgreSQL looks the hashes up in an
 * index and compares no secret byte by byte, so the time of an answer reveals nothing about a secret. Expired and
 * revoked keys are not found.
 */
export async function findCaller(
  pool: Pool,
  secretHashes: readonly Uint8Array[],
): Promise<Caller | undefined> {
  const { rows } = await pool.query<Row<Caller>>({
    name: 'find-caller',
    text: findSql,
    values: [secretHashes.map((hash) => Buffer.from(hash))],
  })
  return rows[0] && defined(rows[0])
}

const findSql = `
  select key_id as "keyId", account_id as "accountId", models
  from api_key join account using (account_id)
  where secret_hash = any($1::bytea[]) and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp())`
