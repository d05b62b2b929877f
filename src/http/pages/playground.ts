import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { extname } from 'node:path'
import type { ApiDeps, Handler, HttpFailure, RouteContext } from '../context.ts'
import type { StaticFile } from './staticFile.ts'
import { readStaticFile, sendStaticFile } from './staticFile.ts'

/** The playground's own files. The browser runs them as they are: there is no build. */
const folder = new URL('../../web/playground/', import.meta.url)

/** The libraries of the playground, by the name under which the page's import map finds them. */
const libraries: Readonly<Record<string, string>> = {
  'library/preact.js': 'preact',
  'library/hooks.js': 'preact/hooks',
  'library/htm.js': 'htm',
  'library/html.js': 'htm/preact',
}

const mimeTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Reads the playground into memory: the page, `/`, and what it loads, `/playground/…`. Where public pages are
 * off, every path is unknown. Throws when a file is missing, so that a process without them does not start.
 */
export function createPlayground({ config }: Pick<ApiDeps, 'config'>): {
  readonly page: Handler
  readonly file: Handler
} {
  const files = config.publicPages ? readFiles() : new Map<string, StaticFile>()
  const policy = pagePolicy(files.get('index.html'))
  const answer = (context: RouteContext, name: string): HttpFailure | undefined => {
    const file = files.get(name)
    if (file === undefined) return { tag: 'not_found' }
    context.set(policy)
    sendStaticFile(context, file)
    return undefined
  }
  return {
    page: async (context) => answer(context, 'index.html'),
    file: async (context) => answer(context, context.params['path'] ?? ''),
  }
}

function readFiles(): ReadonlyMap<string, StaticFile> {
  const own = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => extname(name) !== '')
    .map((name) => [name, read(new URL(name, folder))] as const)
  const foreign = Object.entries(libraries).map(
    ([name, specifier]) => [name, read(new URL(import.meta.resolve(specifier)), '.js')] as const,
  )
  return new Map([...own, ...foreign])
}

function read(location: URL, type = extname(location.pathname)): StaticFile {
  const mimeType = mimeTypes[type]
  if (mimeType === undefined) throw new Error(`Bug: no media type for ${location.pathname}`)
  return readStaticFile(location, mimeType)
}

/**
 * Returns the headers that confine the page. It loads from its own origin alone, and shows images from memory
 * (`blob:`). No inline script runs except the import map, which is named by its digest. So a text of a client
 * or of an upstream could not run as script even if the page put it into its HTML.
 */
function pagePolicy(page: StaticFile | undefined): Readonly<Record<string, string>> {
  const html = page?.content.identity.toString('utf8') ?? ''
  const importMap = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? ''
  const digest = createHash('sha256').update(importMap).digest('base64')
  const policy = [
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
  return {
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  }
}
