import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { ApiContext } from '../context.ts'

/** A file of a public page. It stays in memory. */
export type StaticFile = {
  readonly mimeType: string
  readonly plain: Buffer
  /** Returns the content in one coding. It is compressed once, when the first client asks for it. */
  readonly content: (coding: ContentCoding) => Promise<Buffer>
  readonly etag: string
}

/** Codings in the order of preference. `identity` means not compressed. */
const codings = ['br', 'gzip', 'identity'] as const
type ContentCoding = (typeof codings)[number]

/** Public pages are text. The level compresses them well: a library of 1.7 MB takes about a quarter of a second. */
const brotliLevel = 9

const compress: Readonly<Record<ContentCoding, (plain: Buffer) => Promise<Buffer>>> = {
  br: (plain) =>
    promisify(brotliCompress)(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliLevel } }),
  gzip: (plain) => promisify(gzip)(plain, { level: constants.Z_BEST_COMPRESSION }),
  identity: (plain) => Promise.resolve(plain),
}

/** Reads a text file. Throws the system's error when the file cannot be read. */
export function readStaticFile(location: URL, mimeType: string): StaticFile {
  const plain = readFileSync(location)
  const made = new Map<ContentCoding, Promise<Buffer>>()
  return {
    mimeType,
    plain,
    content: (coding) => {
      const known = made.get(coding)
      if (known !== undefined) return known
      const content = compress[coding](plain)
      made.set(coding, content)
      return content
    },
    etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
  }
}

/**
 * Answers with a file in the best form that the client accepts. The browser asks again on every visit
 * (`no-cache`) and gets a 304 without a body while the file is the same, so a new version shows at once. Each
 * form has its own ETag, because their bytes differ (RFC 9110 section 8.8.3).
 */
export async function sendStaticFile(context: ApiContext, file: StaticFile): Promise<void> {
  const coding = codings.find((each) => context.acceptsEncodings(each) !== false) ?? 'identity'
  context.status = 200
  context.set({
    'Content-Type': file.mimeType,
    'Cache-Control': 'no-cache',
    ETag: `"${file.etag}-${coding}"`,
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
  })
  context.vary('Accept-Encoding')
  if (context.fresh) {
    context.status = 304
    return
  }
  context.body = await file.content(coding)
}
