import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Family } from '../../domain/models/models.ts'
import type { CallEntry } from './callLog.ts'
import { digestOf, withoutLongTexts } from './callLog.ts'
import type { Operation } from './endpoints.ts'
import type { EncodedImage } from './drawImage.ts'
import { answerA } from './familyA/answer.ts'
import { errorReplyA, problemReplyA } from './familyA/errors.ts'
import { readOrderA } from './familyA/read.ts'
import { answerB } from './familyB/answer.ts'
import { errorReplyB, moderationReply, problemReplyB } from './familyB/errors.ts'
import { readForm } from './familyB/form.ts'
import { readEdit, readGeneration } from './familyB/read.ts'
import type { AnswerFault, ErrorFault, Fault } from './faults.ts'
import { isAnswerFault } from './faults.ts'
import type { ImageOrder, OrderRead, Problem } from './imageOrder.ts'
import { refuse } from './imageOrder.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

/** Reads the whole body, writes what it contains into the log entry, and checks it as the vendor does. */
export async function readOrder(
  operation: Operation,
  request: IncomingMessage,
  entry: CallEntry,
): Promise<OrderRead> {
  const isEdit = operation.family === 'B' && operation.action === 'edit'
  const read = await (isEdit
    ? readFormOrder(request, entry)
    : readJsonOrder(operation, request, entry))
  if (read.ok) noteOrder(entry, read.value)
  return read
}

async function readJsonOrder(
  operation: Operation,
  request: IncomingMessage,
  entry: CallEntry,
): Promise<OrderRead> {
  if (operation.family === 'A') entry.note({ model: operation.model })
  const body = await readBody(request)
  if (body === undefined) return refuse(413, 'Request payload size exceeds the limit.')
  const json = parseJson(body.bytes)
  entry.note({
    body: withoutLongTexts(json),
    bodyBytes: body.bytes.length,
    bodySha256: body.sha256,
  })
  if (operation.family === 'A') return readOrderA(operation.model, json)
  return contentTypeOf(request) === 'application/json'
    ? readGeneration(json)
    : unsupportedContentType(request, 'application/json')
}

async function readFormOrder(request: IncomingMessage, entry: CallEntry): Promise<OrderRead> {
  if (contentTypeOf(request) !== 'multipart/form-data') {
    await readBody(request)
    return unsupportedContentType(request, 'multipart/form-data')
  }
  const form = await readForm(request)
  if (form === undefined) return refuse(400, 'Could not parse multipart form.')
  entry.note({
    body: withoutLongTexts(Object.fromEntries(form.fields)),
    bodyBytes: form.bytes,
    bodySha256: form.sha256,
  })
  return readEdit(form)
}

/** Limit for the bytes of a body. More than enough for 64 MiB of images as base64. */
const bodyBytesMax = 256 * 1024 * 1024

/**
 * Returns the body, or `undefined` when it is too large. Reads even a large body to its end, because only
 * then does the client read the answer.
 */
async function readBody(
  request: IncomingMessage,
): Promise<{ readonly bytes: Buffer; readonly sha256: string } | undefined> {
  const hash = createHash('sha256')
  const chunks: Buffer[] = []
  let size = 0
  const received: AsyncIterable<Buffer> = request
  for await (const chunk of received) {
    size += chunk.length
    if (size > bodyBytesMax) continue
    hash.update(chunk)
    chunks.push(chunk)
  }
  if (size > bodyBytesMax) return undefined
  return { bytes: Buffer.concat(chunks), sha256: hash.digest('hex') }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Returns the error for a wrong content type. OpenAI answers 400 in this case, not 415. */
function unsupportedContentType(request: IncomingMessage, expected: string): OrderRead {
  const message = `Unsupported content type: '${contentTypeOf(request)}'. Expected '${expected}'.`
  return refuse(400, message, { code: 'unsupported_content_type' })
}

function contentTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function noteOrder(entry: CallEntry, { action, model, prompt, sources }: ImageOrder): void {
  const images = sources.map(({ mimeType, sha256, sizeBytes }) => ({
    mimeType,
    sha256,
    bytes: sizeBytes,
  }))
  entry.note({ action, model, prompt, promptSha256: digestOf(prompt), images })
}

/** Returns the error answer to a request that breaks a rule of the vendor. */
export function problemReply(family: Family, problem: Problem): Reply {
  return family === 'A' ? problemReplyA(problem) : problemReplyB(problem)
}

/** Returns the error answer that a fault asks for. The dates in its headers are counted from `nowMs`. */
export function errorReply(order: ImageOrder, fault: ErrorFault, nowMs: number): Reply {
  const answer = order.family === 'A' ? errorReplyA : errorReplyB
  return answer(fault, order.model, nowMs)
}

/** Returns how many images are made for the call. If the number is not 0, the vendor charges for the call. */
export function imageCount(order: ImageOrder, fault: Fault | undefined): number {
  if (!isAnswerFault(fault) || fault.kind === 'url') return order.count
  return fault.kind === 'two' ? 2 : 0
}

/**
 * Returns the answer with status 200. For faults that mean "the model refused", family B answers 400 instead.
 */
export function answerReply(
  order: ImageOrder,
  images: readonly EncodedImage[],
  fault: AnswerFault | undefined,
  imageUrl: string,
): Reply {
  if (order.family === 'A') return jsonReply(200, answerA(order, images, fault, imageUrl))
  return fault?.kind === 'block' || fault?.kind === 'finish'
    ? moderationReply('output')
    : jsonReply(200, answerB(order, images, fault, imageUrl, Date.now()))
}
