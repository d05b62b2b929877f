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

/** Returns which of the named texts some table of a database contains, in one of their forms and in any column. */
export async function heldInTables(
  databaseUrl: string,
  texts: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const forms = Object.entries(texts).flatMap(([name, text]) =>
    formsOf(text).map((form) => ({ name, form })),
  )
  return withPostgres(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const held = new Set<string>()
    for (const { name } of tables) {
      // "offset 0" makes PostgreSQL write each row as text once.
      const { rows } = await client.query<{ name: string }>(
        `select distinct f.name from (select t::text as row from ${name} t offset 0) r,
           unnest($1::text[], $2::text[]) f (name, form)
         where position(f.form in r.row) > 0`,
        [forms.map((each) => each.name), forms.map((each) => each.form)],
      )
      for (const row of rows) held.add(row.name)
    }
    return Object.keys(texts).filter((name) => held.has(name))
  })
}

/** Returns the URL of another database on the same server. */
export function databaseBeside(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return url.href
}
