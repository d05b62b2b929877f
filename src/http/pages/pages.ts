import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ApiContext, Handler, HttpFailure, RouteContext } from '../context.ts'
import { guideHtml } from './guide.ts'

/** The playground: the page, `/`, and what it loads, `/playground/…`. */
export function createPlayground(): Page {
  return createPage(new URL('../../web/playground/', import.meta.url), libraries)
}

/** The guide and the reference of the API: the page, `/docs`, and what it loads, `/docs/…` and `/playground/…`. */
export function createReference(): Page {
  return createPage(new URL('../../web/docs/', import.meta.url), {}, (html) =>
    html.replace('<!-- guide -->', guideHtml),
  )
}

/** Files of packages, by the name under which the pages load them. */
const libraries: Readonly<Record<string, string>> = {
  'library/preact.js': 'preact',
  'library/hooks.js': 'preact/hooks',
  'library/htm.js': 'htm',
  'library/html.js': 'htm/preact',
}

/**
 * Returns the directives that confine a page. It loads from its own origin alone, and shows images from memory
 * (`blob:`). No inline script runs except the import map, which is named by its digest. So a text of a client
 * or of an upstream could not run as script even if the page put it into its HTML.
 */
function policyOf(html: string): string {
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
  ].join('; ')
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
 * Reads a page's own files, which the browser runs as they are, and its libraries into memory. `complete` makes the
 * page of its file `index.html`. Throws when a file is missing, so that no process starts without it.
 */
function createPage(
  folder: URL,
  libraries: Readonly<Record<string, string>>,
  complete: (html: string) => string = (html) => html,
): Page {
  const files = new Map<string, StaticFile>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (extname(name) !== '') files.set(name, staticFile(name, readFileSync(new URL(name, folder))))
  }
  for (const [name, specifier] of Object.entries(libraries)) {
    files.set(name, staticFile(name, readFileSync(new URL(import.meta.resolve(specifier)))))
  }
  const html = complete(readFileSync(new URL('index.html', folder), 'utf8'))
  files.set('index.html', staticFile('index.html', Buffer.from(html)))
  const headers = {
    'Content-Security-Policy': policyOf(html),
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

/** A file of a public page. It stays in memory. */
type StaticFile = {
  readonly mimeType: string
  readonly content: Buffer
  readonly etag: string
}

function staticFile(name: string, content: Buffer): StaticFile {
  const mimeType = mimeTypes[extname(name)]
  if (mimeType === undefined) throw new Error(`Bug: no media type for ${name}`)
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
