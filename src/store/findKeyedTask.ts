import type { Pool } from 'pg'
import type { KeyedTask } from '../domain/taskStore.ts'

/** The task that this account's idempotency key names, if it names one. */
export async function findKeyedTask(
  pool: Pool,
  accountId: string,
  keyDigest: Uint8Array,
): Promise<KeyedTask | undefined> {
  const { rows } = await pool.query<KeyedTask>({
    name: 'find-keyed-task',
    text: findSql,
    values: [accountId, Buffer.from(keyDigest)],
  })
  return rows[0]
}

/** Clients see whole seconds, everywhere the same (design section 4). */
const findSql = `
  select t.task_id as "taskId", t.fingerprint,
    (floor(extract(epoch from t.created_at)) * 1000)::float8 as "createdAtMs",
    coalesce(t.purge_at <= now(), false) as "purgeDue"
  from idempotency_key k join task t using (task_id)
  where k.account_id = $1 and k.key_digest = $2`
