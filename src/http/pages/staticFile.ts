import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { ApiContext } from '../context.ts'

/** A file of a public page. It stays in memory, in every form in which it can be sent. */
export type StaticFile = {
  readonly mimeType: string
  readonly content: Readonly<Record<ContentCoding, Buffer>>
  readonly etag: string
}

/** Codings in the order of preference. `identity` means not compressed. */
const codings = ['br', 'gzip', 'identity'] as const
type ContentCoding = (typeof codings)[number]

/** Public pages are text. The brotli level compresses them well and takes a few milliseconds per file. */
const brotliLevel = 9

/** Reads a text file and compresses it. Throws the system's error when the file cannot be read. */
export function readStaticFile(location: URL, mimeType: string): StaticFile {
  const plain = readFileSync(location)
  return {
    mimeType,
    content: {
      br: brotliCompressSync(plain, {
        params: { [constants.BROTLI_PARAM_QUALITY]: brotliLevel },
      }),
      gzip: gzipSync(plain, { level: constants.Z_BEST_COMPRESSION }),
      identity: plain,
    },
    etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
  }
}

/**
 * Answers with a file in the best form that the client accepts. The browser asks again on every visit
 * (`no-cache`) and gets a 304 without a body while the file is the same, so a new version shows at once. Each
 * form has its own ETag, because their bytes differ (RFC 9110 section 8.8.3).
 */
export function sendStaticFile(context: ApiContext, file: StaticFile): void {
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
  context.body = file.content[coding]
}
