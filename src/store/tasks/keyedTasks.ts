import { createHash } from 'node:crypto'

/**
 * Returns the digests under which an idempotency key may be stored. A client sends a text as UTF-8 or as latin1, and the
 * operator has only the text.
 */
export function keyDigestsOf(key: string): readonly Buffer[] {
  return (['utf8', 'latin1'] as const).map((encoding) =>
    createHash('sha256').update(Buffer.from(key, encoding)).digest(),
  )
}

/**
 * Returns a query for the ids of all tasks that were made with an idempotency key. `digests` is the place of a
 * `bytea[]`. A key may name a task of each account. A failed task may have lost its key, and the retry of a task never
 * has one. The keys of each account are looked up one by one, so that submits keep no second index of keys.
 */
export function keyedSql(digests: string): string {
  const failed = `select task_id from task where status = 'failed' and key_digest = any (${digests})`
  return `select task_id from account join idempotency_key using (account_id)
      where idempotency_key.key_digest = any (${digests})
    union ${failed}
    union select task_id from task where retry_of in (${failed})`
}
