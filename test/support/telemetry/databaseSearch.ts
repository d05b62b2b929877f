import { withPostgres } from '../../../src/dev/stack/postgresClient.ts'

/** Every form in which a text may lie in a row: as it is, as hex of its bytes, and within base64. */
export function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  // Base64 depends on where the text begins within three bytes; its edges on what stands beside it.
  const within = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(4, -4),
  )
  return [text, bytes.toString('hex'), ...within]
}

/** The tables of a database in which a row holds the text in one of its forms, whatever the column. */
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

/** Another database on the same server. */
export function databaseBeside(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return url.href
}
