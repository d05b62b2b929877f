import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ApiContext } from '../requestState.ts'
import type { Handler } from '../route.ts'

/** What all pages load, `/shared/…`. */
export function createShared(): Handler {
  const files = readFiles('shared')
  for (const [name, specifier] of Object.entries(libraries)) {
    files.set(name, fileAt(name, new URL(import.meta.resolve(specifier))))
  }
  return filesHandler(files, {})
}

/** Files of packages, by the name under which all pages load them. */
const libraries: Readonly<Record<string, string>> = {
  'library/preact.js': 'preact',
  'library/hooks.js': 'preact/hooks',
  'library/htm.js': 'htm',
  'library/html.js': 'htm/preact',
}

const web = new URL('../../web/', import.meta.url)

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
 * Makes a page of the files in its folder. Throws when a file is missing, so that no process starts without it. Each
 * piece of HTML stands in the place of the comment with its name.
 */
export function createPage(
  folder: 'playground' | 'docs' | 'console',
  pieces: Readonly<Record<string, string>> = {},
): Page {
  const index = readFileSync(new URL(`${folder}/index.html`, web), 'utf8')
  const html = index.replace(/<!-- (\w+) -->/g, (_comment, name: string) => pieces[name] ?? '')
  const headers = { ...confined, 'Content-Security-Policy': policyOf(html) }
  const file = staticFile('index.html', Buffer.from(html))
  return {
    page: async (context) => {
      context.set(headers)
      await sendStaticFile(context, file)
      return undefined
    },
    file: filesHandler(readFiles(folder), confined),
  }
}

/** Headers of every page and of the files that only one page loads. */
const confined = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
}

/** Reads the files that a page loads, which the browser runs as they are, into memory. */
function readFiles(folder: string): Map<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  for (const name of readdirSync(new URL(`${folder}/`, web), {
    recursive: true,
    encoding: 'utf8',
  })) {
    if (['', '.html'].includes(extname(name))) continue
    files.set(name, fileAt(name, new URL(`${folder}/${name}`, web)))
  }
  return files
}

function fileAt(name: string, url: URL): StaticFile {
  return staticFile(name, readFileSync(url))
}

function filesHandler(
  files: ReadonlyMap<string, StaticFile>,
  headers: Readonly<Record<string, string>>,
): Handler {
  return async (context) => {
    const file = files.get(context.params['path'] ?? '')
    if (file === undefined) return { tag: 'not_found' }
    context.set(headers)
    await sendStaticFile(context, file)
    return undefined
  }
}

/** A file of a public page. It stays in memory. */
type StaticFile = {
  readonly mimeType: string
  readonly content: Buffer
  /** Compresses the content, once. */
  readonly zipped: () => Promise<Buffer>
  readonly etag: string
}

function staticFile(name: string, content: Buffer): StaticFile {
  const mimeType = mimeTypes[extname(name)]
  if (mimeType === undefined) throw new Error(`Bug: no media type for ${name}`)
  const etag = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  let zipped: Promise<Buffer> | undefined
  return { mimeType, content, zipped: () => (zipped ??= promisify(gzip)(content)), etag }
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
  else context.body = zips ? await file.zipped() : file.content
}

/**
 * Answers with what `npm start` says while Temporal's server is still being built, one line of text, and with an empty
 * text when nothing is under way. `path` is the file to which it writes.
 */
export function engineProgress(path: string): Handler {
  return async (context) => {
    context.set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' })
    context.status = 200
    context.body = await readFile(path, 'utf8').catch(() => '')
    return undefined
  }
}
