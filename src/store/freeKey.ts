import type { Pool } from 'pg'

/** Takes a key off a task whose life is over, when the sweep has not yet (design, lifetimes). */
export async function freeKey(pool: Pool, accountId: string, keyDigest: Uint8Array): Promise<void> {
  await pool.query({
    name: 'free-key',
    text: `delete from idempotency_key k using task t
      where k.account_id = $1 and k.key_digest = $2
        and t.task_id = k.task_id and t.purge_at <= now()`,
    values: [accountId, Buffer.from(keyDigest)],
  })
}
