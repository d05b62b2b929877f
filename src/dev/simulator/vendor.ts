import type { IncomingMessage } from 'node:http'
import type { Family } from '../../domain/models.ts'
import { assertNever } from '../../domain/assertNever.ts'
import { digestOf, type SimulatorCall } from './callLog.ts'
import type { EncodedImage } from './encodeImages.ts'
import { answerA } from './familyAAnswer.ts'
import { badKeyReplyA, errorReplyA, problemReplyA } from './familyAErrors.ts'
import { readOrderA } from './familyARead.ts'
import { answerB } from './familyBAnswer.ts'
import { badKeyReplyB, errorReplyB, moderationReply, problemReplyB } from './familyBErrors.ts'
import { readForm } from './familyBForm.ts'
import { readEdit, readGeneration } from './familyBRead.ts'
import { type AnswerFault, type ErrorFault, isAnswerFault, type Fault } from './faults.ts'
import { type ImageOrder, type OrderRead, type Problem, problem } from './imageOrder.ts'
import { parseJson, readBody } from './readBody.ts'
import { jsonReply, type Reply } from './reply.ts'
import { summarizeBody } from './summarizeBody.ts'

/** Which operation a request's path names. */
export type Operation =
  | { readonly family: 'A'; readonly model: string }
  | { readonly family: 'B'; readonly action: 'generate' | 'edit' }

export type ReadOptions = { readonly vendorLimits: boolean }

/** Reads the body, writes it into the log entry, and checks it as the vendor does. */
export async function readOrder(
  operation: Operation,
  request: IncomingMessage,
  call: SimulatorCall,
  options: ReadOptions,
): Promise<OrderRead> {
  if (operation.family === 'B' && operation.action === 'edit') {
    return readMultipart(request, call, options)
  }
  const body = await readBody(request)
  if (body === null) return problem(413, 'Request payload size exceeds the limit.')
  const json = parseJson(body.bytes)
  call.body = summarizeBody(json)
  call.bodyBytes = body.bytes.length
  call.bodySha256 = body.sha256
  if (operation.family === 'A') {
    call.model = operation.model
    return readOrderA(operation.model, json, options)
  }
  return contentTypeOf(request) === 'application/json'
    ? readGeneration(json, options)
    : unsupportedContentType(request, 'application/json')
}

async function readMultipart(
  request: IncomingMessage,
  call: SimulatorCall,
  options: ReadOptions,
): Promise<OrderRead> {
  if (contentTypeOf(request) !== 'multipart/form-data') {
    await readBody(request)
    return unsupportedContentType(request, 'multipart/form-data')
  }
  const form = await readForm(request)
  if (form === null) return problem(400, 'Could not parse multipart form.')
  call.body = summarizeBody(Object.fromEntries(form.fields))
  call.bodyBytes = form.bytes
  call.bodySha256 = form.sha256
  return readEdit(form, options)
}

/** OpenAI answers 400 here, not 415: research/wire.md section 2. */
function unsupportedContentType(request: IncomingMessage, expected: string): OrderRead {
  const message = `Unsupported content type: '${contentTypeOf(request)}'. Expected '${expected}'.`
  return problem(400, message, { code: 'unsupported_content_type' })
}

function contentTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Fills the log entry with what the vendor understood. */
export function recordOrder(call: SimulatorCall, order: ImageOrder): void {
  call.action = order.action
  call.model = order.model
  call.prompt = order.prompt
  call.promptSha256 = digestOf(order.prompt)
  call.images = order.sources.map(({ mimeType, sha256, size }) => ({
    mimeType,
    sha256,
    bytes: size,
  }))
}

/** The credential of the request, by the family's own header. */
export function keyOf(family: Family, request: IncomingMessage): string | null {
  switch (family) {
    case 'A':
      return request.headers['x-goog-api-key']?.toString() || null
    case 'B':
      return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
    default:
      return assertNever(family)
  }
}

export function badKeyReply(family: Family): Reply {
  return family === 'A' ? badKeyReplyA() : badKeyReplyB()
}

export function problemReply(family: Family, found: Problem): Reply {
  return family === 'A' ? problemReplyA(found) : problemReplyB(found)
}

export function errorReply(order: ImageOrder, fault: ErrorFault, nowMs: number): Reply {
  const answer = order.family === 'A' ? errorReplyA : errorReplyB
  return answer(fault, order.model, nowMs)
}

/** How many images the answer is to hold. */
export function imageCount(order: ImageOrder, fault: Fault | null): number {
  const plain = order.family === 'B' ? order.count : order.withImage ? 1 : 0
  if (!isAnswerFault(fault)) return plain
  switch (fault.kind) {
    case 'two':
      return 2
    case 'url':
      return plain
    case 'block':
    case 'finish':
    case 'text-only':
    case 'no-image':
    case 'zero':
      return 0
    default:
      return assertNever(fault)
  }
}

/** The answer with status 200, unless family B has another one for what the fault means. */
export function answerReply(
  order: ImageOrder,
  images: readonly EncodedImage[],
  fault: AnswerFault | null,
  imageUrl: string,
): Reply {
  const nowMs = Date.now()
  if (order.family === 'A') return jsonReply(200, answerA(order, images, fault, imageUrl))
  return fault?.kind === 'block' || fault?.kind === 'finish'
    ? moderationReply('output')
    : jsonReply(200, answerB(order, images, fault, imageUrl, nowMs))
}
