import type { Pool } from 'pg'
import type { Family } from '../../domain/models/models.ts'
import { isKept } from '../taskRow.ts'

/** The task that an idempotency key names. */
export type KeyedTask = {
  readonly taskId: string
  readonly createdAtMs: number
  readonly family: Family
  readonly fingerprint: Uint8Array
  /** The price of the task. */
  readonly credits: number
}

/**
 * Returns the task that this account's idempotency key names, or `undefined` when it names none, or one that is due for
 * the purge. `acceptTask.ts` compares the request of this task with the new request, by their fingerprints.
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
  select t.task_id as "taskId", t.family, t.fingerprint, t.credits,
    (floor(extract(epoch from t.created_at)) * 1000)::float8 as "createdAtMs"
  from idempotency_key k join task t using (task_id)
  where k.account_id = $1 and k.key_digest = $2 and ${isKept}`
