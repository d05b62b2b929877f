import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ApiContext, Handler, HttpFailure, RouteContext } from './context.ts'

/** The playground: the page, `/`, and what it loads, `/playground/…`. */
export function createPlayground(): Page {
  return createPage({
    folder: new URL('../web/playground/', import.meta.url),
    libraries: {
      'library/preact.js': 'preact',
      'library/hooks.js': 'preact/hooks',
      'library/htm.js': 'htm',
      'library/html.js': 'htm/preact',
    },
    policy: playgroundPolicy,
  })
}

/**
 * Returns the directives that confine the page. It loads from its own origin alone, and shows images from memory
 * (`blob:`). No inline script runs except the import map, which is named by its digest. So a text of a client
 * or of an upstream could not run as script even if the page put it into its HTML.
 */
function playgroundPolicy(html: string): readonly string[] {
  const importMap = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? ''
  const digest = createHash('sha256').update(importMap).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest}'`,
    "style-src 'self'",
    "img-src 'self' blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
}

/** The guide and the reference of the API: the page, `/docs`, and what it loads, `/docs/…`. */
export function createReference(): Page {
  return createPage({
    folder: new URL('../web/docs/', import.meta.url),
    libraries: {
      'library/swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
      'library/swagger-ui.js': 'swagger-ui-dist/swagger-ui-bundle.js',
    },
    policy: () => referencePolicy,
  })
}

/**
 * The page loads and calls its own origin alone. The icons of Swagger UI are in its style sheet (`data:`), and
 * images that a request returned are shown from memory (`blob:`). No inline script or style is allowed.
 */
const referencePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

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
type Page = { readonly page: Handler; readonly file: Handler }

const mimeTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Reads a page and what it loads into memory. Throws when a library is missing, so that no process starts without it.
 */
function createPage(source: PageSource): Page {
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
 * Answers with a file, compressed if the client accepts that. The browser asks again on every visit (`no-cache`) and
 * gets a 304 without a body while the file is the same, so a new version shows at once.
 */
async function sendStaticFile(context: ApiContext, file: StaticFile): Promise<void> {
  const zips = context.acceptsEncodings('gzip') !== false
  context.status = 200
  context.set({
    'Content-Type': file.mimeType,
    'Cache-Control': 'no-cache',
    // Weak, because it names the file in both forms.
    ETag: `W/"${file.etag}"`,
    ...(zips ? { 'Content-Encoding': 'gzip' } : {}),
    'Cross-Origin-Resource-Policy': 'same-origin',
  })
  context.vary('Accept-Encoding')
  if (context.fresh) context.status = 304
  else context.body = zips ? await promisify(gzip)(file.content) : file.content
}
