import { readdirSync } from 'node:fs'
import { extname } from 'node:path'
import type { ApiDeps, Handler, HttpFailure, RouteContext } from '../context.ts'
import type { StaticFile } from './staticFile.ts'
import { readStaticFile, sendStaticFile } from './staticFile.ts'

/** Where the files of a page are, and how the page is confined. */
type PageSource = {
  /** The page's own files. The browser runs them as they are: there is no build. */
  readonly folder: URL
  /** Files of packages, by the name under which the page loads them. */
  readonly libraries: Readonly<Record<string, string>>
  /** Returns the directives of the Content-Security-Policy. `html` is the page. */
  readonly policy: (html: string) => readonly string[]
}

/** The two routes of a page: the page, and the files that it loads by the parameter `path`. */
export type Page = { readonly page: Handler; readonly file: Handler }

const mimeTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Reads a page and what it loads into memory. Where public pages are off, every path is unknown. Throws when a
 * file is missing, so that a process without them does not start.
 */
export function createPage({ config }: Pick<ApiDeps, 'config'>, source: PageSource): Page {
  const files = config.publicPages ? readFiles(source) : new Map<string, StaticFile>()
  const html = files.get('index.html')?.plain.toString('utf8') ?? ''
  const headers = {
    'Content-Security-Policy': source.policy(html).join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  }
  const answer = async (context: RouteContext, name: string): Promise<HttpFailure | undefined> => {
    const file = files.get(name)
    if (file === undefined) return { tag: 'not_found' }
    context.set(headers)
    await sendStaticFile(context, file)
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
    .map((name) => [name, read(new URL(name, folder))] as const)
  const foreign = Object.entries(libraries).map(
    ([name, specifier]) =>
      [name, read(new URL(import.meta.resolve(specifier)), extname(name))] as const,
  )
  return new Map([...own, ...foreign])
}

function read(location: URL, type = extname(location.pathname)): StaticFile {
  const mimeType = mimeTypes[type]
  if (mimeType === undefined) throw new Error(`Bug: no media type for ${location.pathname}`)
  return readStaticFile(location, mimeType)
}
