import type { IncomingMessage, ServerResponse } from 'node:http'
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
import { deliver, jsonReply, untilGone } from './reply.ts'

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
}

/**
 * The path to which redirects and image URLs in the simulator's answers point. A client must not follow
 * addresses that an upstream sends. The simulator counts the requests for this path, and tests expect none.
 */
export const strayPath = '/elsewhere/image.png'

const bug = 'simulator-bug'
/** A client that gets one of these did not leave by itself. */
const breaking: ReadonlySet<string | null> = new Set(['reset', 'truncated', bug])

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
  const connection = new AbortController()
  const gone = connection.signal
  response.once('close', () => connection.abort())
  response.setHeader('x-request-id', call.id)
  try {
    await answer({ ...rest, operation, request, response, call, gone })
    await untilGone(gone)
  } catch (error) {
    // Node also destroys a request that was read to its end. So `destroyed` alone does not show that the
    // client left.
    const cutOff = request.destroyed && !request.complete
    if (!gone.aborted && !cutOff) {
      // Said here, or a test would take it for a bug of the gateway.
      console.error('Bug in the upstream simulator:', error)
      call.fault = bug
      response.destroy()
    }
  }
  call.status = response.headersSent ? response.statusCode : null
  const broken = breaking.has(call.fault) || closing.aborted
  call.clientAborted = !response.writableFinished && !broken
  call.finishedAt = Date.now()
  return call
}

async function answer(exchange: Exchange): Promise<void> {
  const { operation, request, response, call, plan, gone } = exchange
  const { family, vendor } = operation.endpoint
  const refuse = (fault: string, reply: Reply) => {
    call.fault = fault
    return deliver(response, reply)
  }
  const read = await readOrder(operation, request, call)
  if (call.apiKeyDigest === null) return refuse('bad-key', badKeyReply(vendor))
  if (!read.ok) return refuse('invalid', problemReply(family, read.failure))
  const order = read.value
  const retryAfter = plan.refusedForSeconds(order.model, Date.now())
  if (retryAfter !== undefined) {
    const limited = { kind: '429', retryAfter, form: 'seconds', details: true } as const
    return refuse('limit', errorReply(family, limited, order.model, ''))
  }
  const planned = plan.next(order)
  if (!planned.ok) {
    return refuse('bad-directive', problemReply(family, planned.failure))
  }
  const fault = planned.value
  call.fault = fault?.kind ?? null
  const reply = await replyTo(exchange, order, fault)
  return deliver(response, reply, isOf('transfer', fault) ? fault : undefined, gone)
}

/**
 * Makes the answer with its images. If there is one or more, the call costs money from here on, even if the answer never
 * arrives.
 */
async function replyTo(
  { request, call, plan, image, gone }: Exchange,
  order: ImageOrder,
  fault: Fault | undefined,
): Promise<Reply> {
  const strayUrl = `http://${request.headers.host ?? 'localhost'}${strayPath}`
  if (isOf('error', fault)) return errorReply(order.family, fault, order.model, strayUrl)
  const count = imageCount(order, fault)
  call.billed = count > 0
  const [images] = await Promise.all([
    makeImages(image, order, count, fault),
    plan.wait(order, fault, gone),
  ])
  return answerReply(order, images, fault, strayUrl)
}

/** Returns how many images are made for the call. If the number is not 0, the vendor charges for the call. */
function imageCount(order: ImageOrder, fault: Fault | undefined): number {
  if (fault?.kind === 'reset' || fault?.kind === 'hang') return 0
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
