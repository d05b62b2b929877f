import type { ByteRange } from '../../domain/ports/blobStore.ts'
import type { ImageMimeType } from '../../domain/models/models.ts'
import type { Result } from '../../domain/result.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { ApiParts } from '../apiParts.ts'
import type { HttpFailure } from '../errors.ts'
import type { ApiContext } from '../requestState.ts'
import { sendStream } from './sendBody.ts'

/** A blob of a task that is served at a signed address. */
export type Asset = {
  readonly blobKey: string
  readonly mimeType: ImageMimeType
  readonly etag: string
  /** The name under which a browser saves it. */
  readonly fileName: string
  /** Returns the length of the blob, which is there from then on. Not called for a client that has it. */
  readonly bytes: () => Promise<Result<number, HttpFailure>>
}

export const assetNotFound: HttpFailure = { tag: 'asset_not_found' }

/** Sends an asset, a part of it, or the address at which the blob store has it. */
export async function sendAsset(
  context: ApiContext,
  parts: Pick<ApiParts, 'blobs' | 'config'>,
  task: TaskView,
  asset: Asset,
): Promise<HttpFailure | undefined> {
  const { blobKey, mimeType, etag } = asset
  const headers = assetHeaders(task, asset)
  if (etagMatches(context.get('If-None-Match'), etag)) {
    context.set(headers)
    context.status = 304
    return undefined
  }
  const length = await asset.bytes()
  if (!length.ok) return length.failure
  const bytes = length.value
  const range = rangeOf(context, etag, bytes)
  if (range === 'unsatisfiable') return { tag: 'range_not_satisfiable', bytes }
  const { presign } = parts.blobs
  if (parts.config.assetRedirect && presign !== undefined && context.method === 'GET') {
    const address = await presign(blobKey, {
      livesSeconds: Math.max(1, Math.min(redirectSecondsMax, secondsLeft(task))),
      contentType: mimeType,
      contentDisposition: headers['Content-Disposition'],
      cacheControl: headers['Cache-Control'],
    })
    redirect(context, etag, address)
    return undefined
  }
  const part = range === 'whole' ? undefined : range
  const isSent = await sendStream(context, {
    status: part === undefined ? 200 : 206,
    headers: { ...headers, 'Content-Type': mimeType, ...contentRange(part, bytes) },
    contentLength: part === undefined ? bytes : part.last - part.first + 1,
    open: () => parts.blobs.read(blobKey, part),
  })
  return isSent ? undefined : assetNotFound
}

/** How long an address of the blob store works. A client follows it at once. */
const redirectSecondsMax = 60

/** Sends the client to the blob store. The answer is not to be kept, because the address soon stops working. */
function redirect(context: ApiContext, etag: string, address: string): void {
  context.body = null
  context.status = 307
  context.set({ ETag: etag, Location: address })
}

function contentRange(part: ByteRange | undefined, bytes: number): Record<string, string> {
  return part === undefined ? {} : { 'Content-Range': `bytes ${part.first}-${part.last}/${bytes}` }
}

/**
 * Returns the part of the image to send. Only a GET request can ask for a part. If the request has an If-Range with
 * another value than the ETag of the image, returns `whole`.
 */
function rangeOf(context: ApiContext, etag: string, bytes: number): ReturnType<typeof parseRange> {
  const ifRange = context.get('If-Range')
  if (context.method !== 'GET' || (ifRange !== '' && ifRange !== etag)) return 'whole'
  return parseRange(context.get('Range'), bytes)
}

/**
 * Returns the headers of an image. Web pages of any origin may show the image (`cross-origin`). When a
 * browser opens the URL as a page, it must run nothing in it (`sandbox`), because the content comes from
 * outside.
 */
function assetHeaders(task: TaskView, { etag, fileName }: Asset) {
  return {
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': `private, max-age=${secondsLeft(task)}, immutable`,
    'Content-Disposition': `inline; filename="${fileName}"`,
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Cross-Origin-Resource-Policy': 'cross-origin',
  }
}

/** Whole seconds until the image expires. */
function secondsLeft({ expiresAtMs, nowMs }: TaskView): number {
  return Math.max(0, Math.floor(((expiresAtMs ?? nowMs) - nowMs) / 1000))
}

const singleRange = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))\s*$/i

/**
 * Returns the range that a Range header asks for, in content of `bytes` bytes (RFC 9110 section 14). For
 * several ranges, other units and malformed headers, returns `whole`: the RFC allows a server to ignore them.
 */
function parseRange(
  header: string | undefined,
  bytes: number,
): ByteRange | 'whole' | 'unsatisfiable' {
  const match = singleRange.exec(header ?? '')
  if (match === null) return 'whole'
  const [, first, last, suffix] = match
  if (first === undefined) {
    const length = Number(suffix)
    return length === 0 || bytes === 0
      ? 'unsatisfiable'
      : { first: Math.max(0, bytes - length), last: bytes - 1 }
  }
  const from = Number(first)
  const to = last === undefined || last === '' ? Infinity : Number(last)
  if (to < from) return 'whole'
  return from < bytes ? { first: from, last: Math.min(to, bytes - 1) } : 'unsatisfiable'
}

/**
 * Returns whether an If-None-Match header matches, by weak comparison (RFC 9110 section 13.1.2). Koa's
 * `context.fresh` is not used here: it never matches a request with `Cache-Control: no-cache`, which Node's
 * `fetch` adds to a request with an If-None-Match.
 */
function etagMatches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}
