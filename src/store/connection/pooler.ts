import type { PoolClient } from 'pg'

/**
 * Makes a connection of a pool usable behind a pooler in transaction mode: sends its statements without their names.
 * A statement with a name is prepared in one session of PostgreSQL. Older poolers (PgBouncer before 1.21) may run it
 * in another session, which does not know the name.
 */
export function sendUnnamed(client: PoolClient): void {
  const query: (...given: unknown[]) => unknown = client.query.bind(client)
  Object.defineProperty(client, 'query', {
    value: (statement: unknown, ...rest: unknown[]) => query(withoutName(statement), ...rest),
  })
}

function withoutName(statement: unknown): unknown {
  if (typeof statement !== 'object' || statement === null || !('name' in statement))
    return statement
  return { ...statement, name: undefined }
}
