import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import type { CallLog, SimulatorCall } from './calls.ts'
import type { EncodedImage, ImageMode } from './drawImage.ts'
import { makeImages } from './drawImage.ts'
import type { Operation } from './endpoints.ts'
import { keyOf } from './endpoints.ts'
import { badKeyReply, errorReply, moderationReply, problemReply } from './errors.ts'
import { answerA } from './familyA.ts'
import { answerB } from './familyB.ts'
import type { Fault } from './faults.ts'
import { isOf } from './faults.ts'
import type { ImageOrder } from './order.ts'
import type { Plan } from './plan.ts'
import { readOrder } from './readOrder.ts'
import type { Reply } from './reply.ts'
import { deliverTransferFault, deliverWhole, htmlReply, jsonReply, untilGone } from './reply.ts'

/** A call under way: its connection, and its entry in the log. */
type Exchange = {
  readonly plan: Plan
  readonly image: ImageMode
  readonly operation: Operation
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly call: SimulatorCall
  /** Aborts when the answer is over: it was sent completely, or somebody closed the connection. */
  readonly gone: AbortSignal
  /** Says that the simulator breaks the connection. Otherwise the log says that the client left. */
  readonly breaking: AbortController
}

/**
 * The path to which redirects and image URLs in the simulator's answers point. A client must not follow
 * addresses that an upstream sends. The simulator counts the requests for this path, and tests expect none.
 */
export const strayPath = '/elsewhere/image.png'

/**
 * Serves one call of a vendor's API, from its headers to the last byte of the answer, and returns its log entry.
 * `closing` aborts when the simulator closes: clients that lose their connection after that did not leave by themselves.
 */
export async function serveCall(
  operation: Operation,
  request: IncomingMessage,
  response: ServerResponse,
  deps: Pick<Exchange, 'plan' | 'image'> & { readonly log: CallLog; readonly closing: AbortSignal },
): Promise<SimulatorCall> {
  const { family, vendor } = operation.endpoint
  const { log, closing, ...rest } = deps
  const call = log.open(request, family, keyOf(vendor, request.headers))
  const [connection, breaking] = [new AbortController(), new AbortController()]
  const gone = connection.signal
  const exchange = { ...rest, operation, request, response, call, gone, breaking }
  response.once('close', () => connection.abort())
  response.setHeader('x-request-id', call.id)
  try {
    await answer(exchange)
    await untilGone(gone)
  } catch (error) {
    // Node also destroys a request that was read to its end. So `destroyed` alone does not show that the
    // client left.
    const cutOff = request.destroyed && !request.complete
    if (!gone.aborted && !cutOff) reportBug(exchange, error)
  }
  const broken = breaking.signal.aborted || closing.aborted
  call.status = response.headersSent ? response.statusCode : null
  call.clientAborted = !response.writableFinished && !broken
  call.finishedAt = Date.now()
  return call
}

/** Reports a bug of the simulator on stderr. Otherwise a test would take it for a bug of the gateway. */
function reportBug({ call, response, breaking }: Exchange, error: unknown): void {
  call.fault = 'simulator-bug'
  console.error('Bug in the upstream simulator:', error)
  breaking.abort()
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'content-type': 'text/plain' }).end('simulator bug')
}

async function answer(exchange: Exchange): Promise<void> {
  const { operation, request, response, call, plan } = exchange
  const { family, vendor } = operation.endpoint
  const refuse = (fault: string, reply: Reply): void => {
    call.fault = fault
    deliverWhole(response, reply)
  }
  const read = await readOrder(operation, request, call)
  if (call.apiKeyDigest === null) return refuse('bad-key', badKeyReply(vendor))
  if (!read.ok) return refuse('invalid', problemReply(family, read.failure))
  const order = read.value
  const nowMs = Date.now()
  const retryAfter = plan.refusedForSeconds(order.model, nowMs)
  if (retryAfter !== undefined) {
    const limited = { kind: '429', retryAfter, form: 'seconds', details: true } as const
    return refuse('limit', errorReply(family, limited, order.model, nowMs))
  }
  const planned = plan.next(order)
  if (!planned.ok) {
    const problem = { status: 400, message: planned.failure }
    return refuse('bad-directive', problemReply(family, problem))
  }
  call.fault = planned.value?.kind ?? null
  return deliver(exchange, order, planned.value)
}

async function deliver(
  exchange: Exchange,
  order: ImageOrder,
  fault: Fault | undefined,
): Promise<void> {
  const { request, response, gone, breaking } = exchange
  if (!isOf('error', fault) && !isOf('connection', fault)) return produce(exchange, order, fault)
  await sleep(fault.delay ?? 0, undefined, { signal: gone })
  if (isOf('error', fault)) {
    return deliverWhole(response, errorReply(order.family, fault, order.model, Date.now()))
  }
  switch (fault.kind) {
    case 'reset':
      breaking.abort()
      response.socket?.resetAndDestroy()
      return
    case 'hang':
      return untilGone(gone)
    case 'html':
      return deliverWhole(response, htmlReply(200, 'Welcome to nginx!'))
    case 'empty':
      return deliverWhole(response, { ...jsonReply(200, ''), body: '' })
    case 'redirect': {
      const headers = { location: strayUrl(request) }
      return deliverWhole(response, { ...htmlReply(fault.status, 'Found', headers), body: '' })
    }
    default:
      return assertNever(fault)
  }
}

/**
 * Makes the images. If there is one or more, the call costs money from here on, even if its answer never
 * arrives.
 */
async function produce(
  { request, response, call, plan, image, gone, breaking }: Exchange,
  order: ImageOrder,
  fault: Fault | undefined,
): Promise<void> {
  const count = imageCount(order, fault)
  call.billed = count > 0
  const [images] = await Promise.all([
    makeImages(image, order, count, fault),
    plan.wait(order, fault, gone),
  ])
  const reply = answerReply(order, images, fault, strayUrl(request))
  if (!isOf('transfer', fault)) return deliverWhole(response, reply)
  const growAt = growthAt(reply.body, images)
  return deliverTransferFault(response, reply, fault, { growAt, gone, breaking })
}

/** Returns how many images are made for the call. If the number is not 0, the vendor charges for the call. */
function imageCount(order: ImageOrder, fault: Fault | undefined): number {
  if (!isOf('answer', fault) || fault.kind === 'url') return order.count
  return fault.kind === 'two' ? 2 : 0
}

/**
 * Returns the answer with status 200. For faults that mean "the model refused", family B answers 400 instead.
 */
function answerReply(
  order: ImageOrder,
  images: readonly EncodedImage[],
  fault: Fault | undefined,
  imageUrl: string,
): Reply {
  const answerFault = isOf('answer', fault) ? fault : undefined
  if (order.family === 'A') return jsonReply(200, answerA(order, images, answerFault, imageUrl))
  return fault?.kind === 'block' || fault?.kind === 'finish'
    ? moderationReply('output')
    : jsonReply(200, answerB(order, images, answerFault, imageUrl))
}

function strayUrl({ headers }: IncomingMessage): string {
  return `http://${headers.host ?? 'localhost'}${strayPath}`
}

/**
 * Returns the position where more base64 can be inserted into the first image, or 0 when there is no image.
 * The position is before the last group of four characters, because only that group may contain padding.
 */
function growthAt(body: string, images: readonly EncodedImage[]): number {
  const data = images[0]?.data ?? ''
  return data === '' ? 0 : body.indexOf(data) + data.length - 4
}
