import type { Pool } from 'pg'
import type { Caller } from '../domain/caller.ts'
import { knownModels } from './knownModels.ts'

type CallerRow = {
  readonly accountId: string
  readonly keyId: string
  readonly models: string[] | null
}

/**
 * The account behind a secret, by its hashes under every pepper in use. An index finds equal hashes, so
 * no comparison of secrets leaks by its timing. Expired and revoked keys are not found from that moment.
 */
export async function findCaller(
  pool: Pool,
  secretHashes: readonly Uint8Array[],
): Promise<Caller | undefined> {
  const { rows } = await pool.query<CallerRow>({
    name: 'find-caller',
    text: findSql,
    values: [secretHashes.map((hash) => Buffer.from(hash))],
  })
  const row = rows[0]
  if (row === undefined) return undefined
  const { accountId, keyId } = row
  return { accountId, keyId, ...knownModels(row.models) }
}

const findSql = `
  select k.account_id as "accountId", k.key_id as "keyId", a.models
  from api_key k join account a using (account_id)
  where k.secret_hash = any($1::bytea[]) and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > clock_timestamp())`
