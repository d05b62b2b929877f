import { randomBytes } from 'node:crypto'
import type { PoolClient } from 'pg'
import { Client } from 'pg'

/** How often the check is repeated. A busy pooler may keep the two connections of the check apart once, by chance. */
const tries = 3
const timeoutMs = 5_000

/**
 * Returns whether a connection to this URL keeps its session in PostgreSQL. A pooler in transaction mode (PgBouncer)
 * runs each transaction on any free session, so LISTEN, session locks and settings get lost.
 *
 * The check opens two connections and marks the session of the first one with a setting. While the first connection
 * is idle, the second one begins a transaction. A pooler then gives the second connection the marked session, or
 * gives the first connection another session afterwards. The mark shows the first case. The mark or the id of
 * PostgreSQL's process shows the second case.
 */
export async function keepsSession(databaseUrl: string): Promise<boolean> {
  const [first, second] = [clientOf(databaseUrl), clientOf(databaseUrl)]
  try {
    await Promise.all([first.connect(), second.connect()])
    for (let turn = 0; turn < tries; turn += 1) {
      if (!(await keptApart(first, second))) return false
    }
    return true
  } finally {
    await Promise.all([first, second].map((client) => client.end().catch(() => {})))
  }
}

function clientOf(databaseUrl: string): Client {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'darkroom-session-check',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  client.on('error', () => {})
  return client
}

type Seen = { readonly pid: number; readonly mark: string | null }

const seenSql = `select pg_backend_pid() as pid, current_setting('darkroom.session', true) as mark`

async function keptApart(first: Client, second: Client): Promise<boolean> {
  const mark = randomBytes(8).toString('hex')
  await first.query(`select set_config('darkroom.session', $1, false)`, [mark])
  const before = (await first.query<Seen>(seenSql)).rows[0]
  await second.query('begin')
  const other = (await second.query<Seen>(seenSql)).rows[0]
  const after = (await first.query<Seen>(seenSql)).rows[0]
  await second.query('rollback')
  return (
    before?.mark === mark &&
    after?.mark === mark &&
    before.pid === after.pid &&
    other?.mark !== mark
  )
}

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
