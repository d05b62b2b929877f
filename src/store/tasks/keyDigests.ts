import { createHash } from 'node:crypto'

/**
 * Returns the digests that a task has of an idempotency key. A client sends a text as UTF-8 or as latin1, and the
 * operator has only the text.
 */
export function keyDigestsOf(key: string): readonly Buffer[] {
  return (['utf8', 'latin1'] as const).map((encoding) =>
    createHash('sha256').update(Buffer.from(key, encoding)).digest(),
  )
}
