import { withPostgres } from '../../../src/dev/postgres.ts'

/** The forms in which a row may contain a text: plain, as hex, and as part of a Base64 text. */
export function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  // The Base64 of a text depends on its offset modulo 3, and its first and last characters on its neighbours.
  const within = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(4, -4),
  )
  return [text, bytes.toString('hex'), ...within]
}

/** Returns the tables of a database that contain the text in one of its forms, in any column. */
export async function tablesHolding(databaseUrl: string, text: string): Promise<readonly string[]> {
  return withPostgres(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const holding: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<{ held: boolean }>(
        `select exists (select from ${name} t, unnest($1::text[]) form
           where position(form in t::text) > 0) as held`,
        [formsOf(text)],
      )
      if (rows[0]?.held === true) holding.push(name)
    }
    return holding
  })
}

/** Returns the URL of another database on the same server. */
export function databaseBeside(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return url.href
}
