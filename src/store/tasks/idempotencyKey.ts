import type { Pool } from 'pg'

/** The task that an idempotency key names. */
export type KeyedTask = {
  readonly taskId: string
  readonly createdAtMs: number
  readonly fingerprint: Uint8Array
  /** The price of the task. */
  readonly credits: number
  /** The task is due for the purge but not yet purged. After `freeKey`, the key can name a new task. */
  readonly purgeDue: boolean
}

/**
 * Returns the task that this account's idempotency key names, or `undefined` when it names none. `acceptTask.ts`
 * compares the request of this task with the new request, by their fingerprints.
 */
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

/** Rounds `created_at` down to a full second, because clients see whole seconds in every answer. */
const findSql = `
  select t.task_id as "taskId", t.fingerprint, t.credits,
    (floor(extract(epoch from t.created_at)) * 1000)::float8 as "createdAtMs",
    coalesce(t.purge_at <= now(), false) as "purgeDue"
  from idempotency_key k join task t using (task_id)
  where k.account_id = $1 and k.key_digest = $2`

/**
 * Frees an account's key when the key's task is due for the purge but not yet purged. The key can then name a
 * new task. Does nothing for any other key.
 */
export async function freeKey(pool: Pool, accountId: string, keyDigest: Uint8Array): Promise<void> {
  await pool.query({
    name: 'free-key',
    text: `delete from idempotency_key k using task t
      where k.account_id = $1 and k.key_digest = $2
        and t.task_id = k.task_id and t.purge_at <= now()`,
    values: [accountId, Buffer.from(keyDigest)],
  })
}
