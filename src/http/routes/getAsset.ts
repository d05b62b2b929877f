import type { ByteRange } from '../../domain/ports/blobStore.ts'
import type { TaskAsset, TaskView } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import { answerImageKey } from '../../domain/upstream/answerMeta.ts'
import { sendStream } from '../answers/sendBody.ts'
import { isAssetUrl } from '../assetUrl.ts'
import type { ApiContext } from '../requestState.ts'
import type { ApiParts } from '../apiParts.ts'
import type { Content, Handler, Route } from '../route.ts'
import type { HttpFailure } from '../errors.ts'
import { inputMimeTypes } from '../../domain/models/models.ts'
import { taskId } from '../../schema/answers/recordAnswer.ts'
import { z } from 'zod'

const image: Content = Object.fromEntries(
  inputMimeTypes.map((type) => [type, z.string().meta({ format: 'binary' })]),
)

const answerHeaders = [
  'ETag',
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Security-Policy',
  'Cross-Origin-Resource-Policy',
] as const

export const getAssetRoute: Route<ApiParts> = {
  method: 'GET',
  path: '/v1/assets/{task_id}/{name}',
  id: 'getAsset',
  summary: 'Download a finished image',
  description:
    'The address is in `output.assets` of the record. It is signed, works without an API key, and expires with the image.',
  extension: true,
  access: 'open',
  params: { task_id: taskId, name: z.enum(['image.png', 'image.jpg', 'image.webp']) },
  query: z.object({
    version: z.literal('1'),
    key: z.string(),
    expires: z.string(),
    signature: z.string(),
  }),
  headers: {
    Range: z.string().optional().meta({ example: 'bytes=0-1023' }),
    'If-None-Match': z.string().optional(),
    'If-Range': z.string().optional(),
  },
  answers: {
    200: { description: 'The image.', headers: answerHeaders, content: image },
    206: {
      description: 'The requested part of the image.',
      headers: [...answerHeaders, 'Content-Range'],
      content: image,
    },
    304: {
      description: 'The image that the client has is the right one.',
      headers: answerHeaders,
    },
    307: {
      description:
        'The image is at an address of the blob store, which works for a minute (`ASSET_REDIRECT`).',
      headers: ['ETag', 'Location'],
    },
  },
  errors: ['asset_not_found', 'range_not_satisfiable'],
  handler: getAsset,
}

/**
 * `GET /v1/assets/{task_id}/{name}?…`: answers with the image behind a signed URL, without an API key. A
 * valid signature is not enough. The task must also not have expired by the clock of the database. So the
 * image is never served when the task's record already says `expired`.
 */
export function getAsset(parts: ApiParts): Handler {
  return async (context) => {
    const { taskId = '', name = '' } = context.params
    const query = new URLSearchParams(context.querystring)
    if (!isAssetUrl(parts.signingKeys, { taskId, name }, query)) return notFound
    context.state.taskId = taskId
    const task = await parts.readTaskOfImage(taskId)
    if (task?.asset === undefined || publicStatus(task) !== 'succeeded') return notFound
    return sendAsset(context, parts, task, { ...task.asset, name })
  }
}

const notFound: HttpFailure = { tag: 'asset_not_found' }

type NamedAsset = TaskAsset & { readonly name: string }

async function sendAsset(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
  asset: NamedAsset,
): Promise<HttpFailure | undefined> {
  const etag = `"${asset.sha256}"`
  const headers = assetHeaders(task, asset, etag)
  if (etagMatches(context.get('If-None-Match'), etag)) {
    context.set(headers)
    context.status = 304
    return undefined
  }
  const range = rangeOf(context, etag, asset.bytes)
  if (range === 'unsatisfiable') return { tag: 'range_not_satisfiable', bytes: asset.bytes }
  const { presign } = parts.blobs
  if (parts.config.assetRedirect && presign !== undefined && context.method === 'GET') {
    const address = await presign(answerImageKey(asset.answerId), {
      livesSeconds: Math.max(1, Math.min(redirectSecondsMax, secondsLeft(task))),
      contentType: asset.mimeType,
      contentDisposition: headers['Content-Disposition'],
      cacheControl: headers['Cache-Control'],
    })
    redirect(context, etag, address)
    return undefined
  }
  const part = range === 'whole' ? undefined : range
  const isSent = await sendStream(context, {
    status: part === undefined ? 200 : 206,
    headers: { ...headers, 'Content-Type': asset.mimeType, ...contentRange(part, asset.bytes) },
    contentLength: part === undefined ? asset.bytes : part.last - part.first + 1,
    open: () => parts.blobs.read(answerImageKey(asset.answerId), part),
  })
  return isSent ? undefined : notFound
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
function assetHeaders(task: TaskView, asset: NamedAsset, etag: string) {
  const fileName = `${task.taskId}${asset.name.slice(asset.name.lastIndexOf('.'))}`
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
