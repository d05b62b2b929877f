import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { ApiContext, Handler, HttpFailure, RouteContext } from '../context.ts'

/** Where the files of a page are, and how the page is confined. */
type PageSource = {
  /** The page's own files. The browser runs them as they are: there is no build. */
  readonly folder: URL
  /** Files of packages, by the name under which the page loads them. */
  readonly libraries: Readonly<Record<string, string>>
  /** Returns the directives of the Content-Security-Policy. `html` is the page. */
  readonly policy: (html: string) => readonly string[]
}

/** The two routes of a page: one for the page itself, and one for the files that it loads, which `path` names. */
export type Page = { readonly page: Handler; readonly file: Handler }

const mimeTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Reads a page and what it loads into memory. Throws when a library is missing, so that no process starts without it.
 */
export function createPage(source: PageSource): Page {
  const files = readFiles(source)
  const html = files.get('index.html')?.content.toString('utf8') ?? ''
  const headers = {
    'Content-Security-Policy': source.policy(html).join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  }
  const answer = async (context: RouteContext, name: string): Promise<HttpFailure | undefined> => {
    const file = files.get(name)
    if (file === undefined) return { tag: 'not_found' }
    context.set(headers)
    sendStaticFile(context, file)
    return undefined
  }
  return {
    page: (context) => answer(context, 'index.html'),
    file: (context) => answer(context, context.params['path'] ?? ''),
  }
}

function readFiles({ folder, libraries }: PageSource): ReadonlyMap<string, StaticFile> {
  const own = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => extname(name) !== '')
    .map((name) => [name, readStaticFile(new URL(name, folder), name)] as const)
  const foreign = Object.entries(libraries).map(
    ([name, specifier]) =>
      [name, readStaticFile(new URL(import.meta.resolve(specifier)), name)] as const,
  )
  return new Map([...own, ...foreign])
}

/** A file of a public page. It stays in memory. */
type StaticFile = {
  readonly mimeType: string
  readonly content: Buffer
  readonly etag: string
}

/** Reads a text file. Throws the system's error when the file cannot be read. */
function readStaticFile(location: URL, name: string): StaticFile {
  const mimeType = mimeTypes[extname(name)]
  if (mimeType === undefined) throw new Error(`Bug: no media type for ${name}`)
  const content = readFileSync(location)
  const etag = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  return { mimeType, content, etag }
}

/**
 * Answers with a file. The browser asks again on every visit (`no-cache`) and gets a 304 without a body while the file
 * is the same, so a new version shows at once.
 */
function sendStaticFile(context: ApiContext, file: StaticFile): void {
  context.status = 200
  context.set({
    'Content-Type': file.mimeType,
    'Cache-Control': 'no-cache',
    ETag: `"${file.etag}"`,
    'Cross-Origin-Resource-Policy': 'same-origin',
  })
  if (context.fresh) context.status = 304
  else context.body = file.content
}
