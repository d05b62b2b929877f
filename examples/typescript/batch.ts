/**
 * Makes an image for each row of a CSV with the columns `name` and `prompt`.
 *
 *     node batch.ts prompts.csv images
 *
 * Kill it and start it again as often as you like: each row is bought once. A row whose task failed stays failed. To try
 * it again, change it, for example by a further column.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Darkroom, DarkroomError } from 'darkroom-client'

const model = process.env['MODEL'] ?? 'familyb-image-2-vip'
const parallel = 8
const darkroom = new Darkroom()

/** Reads CSV (RFC 4180): the first row names the columns. Throws for anything else: it would buy a wrong prompt. */
function rowsOf(csv: string): readonly Readonly<Record<string, string>>[] {
  const rows: string[][] = [[]]
  let read = 0
  for (const [text, quoted, plain = '', end] of csv.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy,
  )) {
    read += text.length
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end !== ',') rows.push([])
  }
  if (read < csv.length) throw new Error(`Line ${csv.slice(0, read).split('\n').length} is no CSV.`)
  const [names = [], ...more] = rows.filter((row) => row.join('') !== '')
  const long = more.find((row) => row.length > names.length)
  if (long !== undefined) throw new Error(`A row has too many fields: ${long.join()}`)
  return more.map((row) => Object.fromEntries(names.map((name, n) => [name, row[n] ?? ''])))
}

/** Makes one image. */
async function make(row: Readonly<Record<string, string>>, path: string): Promise<void> {
  if (existsSync(path)) return
  const { name, prompt = '' } = row
  // The same row is the same purchase, whichever process asks for it.
  const idempotencyKey = createHash('sha256')
    .update(JSON.stringify([model, row]))
    .digest('hex')
  try {
    const image = await darkroom.images.generate({ model, prompt }, { idempotencyKey })
    await image.save(path)
    console.log(path)
  } catch (error) {
    if (!(error instanceof DarkroomError)) throw error
    console.error(`${name}: ${error.code}: ${error.message}`)
    process.exitCode = 1
  }
}

const [file = '', folder = ''] = process.argv.slice(2)
// Excel begins a file with a byte order mark.
const rows = rowsOf((await readFile(file, 'utf8')).replace(/^\ufeff/, ''))
const paths = rows.map(({ name = '' }) => join(folder, `${basename(name)}.png`))
if (new Set(paths).size < paths.length) throw new Error('Two rows have the same name.')
await mkdir(folder, { recursive: true })
const waiting = rows.entries()
const work = async (): Promise<void> => {
  for (const [n, row] of waiting) await make(row, paths[n] ?? '')
}
await Promise.all(Array.from({ length: parallel }, work))
