import { DatabaseError } from 'pg'

// What the SQLSTATEs of PostgreSQL's errors say (PostgreSQL documentation, Appendix A).

/** A serialization failure and a deadlock. After them, the same work can succeed when it runs again. */
const retryableStates = new Set(['40001', '40P01'])

/** The end of a task met a webhook whose row was deleted after the statement began. The next one does not see it. */
const deletedWebhook = 'webhook_delivery_webhook_id_fkey'

/** Returns whether the same work can succeed when it runs again at once. */
export function isRetryable(error: unknown): boolean {
  if (retryableStates.has(stateOf(error))) return true
  return error instanceof DatabaseError && error.constraint === deletedWebhook
}

/**
 * The SQLSTATEs after which two things are true: the statement had no effect, and it is of no use to send anything more
 * to this connection. On another connection the same statement can succeed at once.
 *
 * - 25006: the session only reads. It was opened while the role or the database had `default_transaction_read_only`,
 *   which it keeps for as long as it lives, or it leads to a server that a failover has made a standby.
 * - 0A000: "cached plan must not change result type". A migration changed a table behind a prepared statement.
 * - 26000, 42P05: a prepared statement is not there, or is there already. A pooler has changed the session, or somebody
 *   has said DISCARD ALL. The client still believes what it has prepared.
 */
const uselessStates = new Set(['25006', '0A000', '26000', '42P05'])

/**
 * The SQLSTATEs of a connection that ends: its server stops, crashed, starts or lost the database, or the session was
 * idle or in a transaction for too long (57P01 to 57P05, 25P03, 25P04), or the connection itself failed (08…; PgBouncer
 * reports its own failures as 08P01). They do not say whether the statement had an effect.
 */
const endingStates = /^(?:57P0\d|25P0[34]|08...)$/

/** Returns whether PostgreSQL says that the connection is of no use. Another one must be opened. */
export function isConnectionUseless(error: unknown): boolean {
  return isUselessWithoutEffect(error) || endingStates.test(stateOf(error))
}

/** Returns whether the statement had no effect, and only the connection is the reason. */
export function isUselessWithoutEffect(error: unknown): boolean {
  return uselessStates.has(stateOf(error))
}

/**
 * The SQLSTATEs of errors after which two things are true: the statement had no effect, and the same statement can
 * succeed later. Besides the retryable errors these are: a lock timeout (55P03), a statement timeout (57014), a lack of
 * resources, disk or memory (53…), and a server that only reads (25006). The end of a connection is not among them.
 */
const takenBackStates = new Set([
  ...retryableStates,
  '55P03',
  '57014',
  '53000',
  '53100',
  '53200',
  '53400',
  '25006',
])

/** Returns whether the statement had no effect and can succeed later. */
export function isTakenBack(error: unknown): boolean {
  return takenBackStates.has(stateOf(error))
}

/** Returns an empty text for what is no error of PostgreSQL. */
function stateOf(error: unknown): string {
  return (error instanceof DatabaseError && error.code) || ''
}
