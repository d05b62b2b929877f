import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallLog } from './calls.ts'
import type { ImageMode } from './drawImage.ts'
import { makeImages } from './drawImage.ts'
import type { Operation } from './endpoints.ts'
import { keyOf } from './endpoints.ts'
import { badKeyReply, errorReply, problemReply, refusalReply } from './errorReplies.ts'
import type { Fault } from './faults.ts'
import { isOf } from './faults.ts'
import type { ImageOrder } from './order.ts'
import type { Plan } from './plan.ts'
import { readOrder } from './readOrder.ts'
import type { Reply } from './reply.ts'
import { deliver, jsonReply, untilGone } from './reply.ts'
import { shapeReply } from './shapes.ts'

/**
 * The path to which redirects and image URLs in the simulator's answers point. A client must not follow
 * addresses that an upstream sends: the log shows who does.
 */
export const strayPath = '/elsewhere/image.png'

/** Serves one call of a vendor's API, from its headers to the last byte of the answer. */
export async function serveCall(
  operation: Operation,
  request: IncomingMessage,
  response: ServerResponse,
  deps: {
    readonly log: CallLog
    readonly plan: Plan
    readonly image: ImageMode
    readonly nextOfBadRelay: () => Fault
  },
): Promise<void> {
  const { log, plan, image } = deps
  const { family, vendor } = operation.endpoint
  const call = log.open(request, family, keyOf(vendor, request.headers))
  const strayUrl = `http://${request.headers.host ?? 'localhost'}${strayPath}`
  /** Aborts when the answer is over: it was sent completely, or somebody closed the connection. */
  const connection = new AbortController()
  const gone = connection.signal
  response.once('close', () => connection.abort())
  response.setHeader('x-request-id', call.id)
  try {
    await answer()
    await untilGone(gone)
  } catch (error) {
    // Node also destroys a request that was read to its end. So `destroyed` alone does not show that the
    // client left.
    const cutOff = request.destroyed && !request.complete
    if (!gone.aborted && !cutOff) {
      // Said here, or a test would take it for a bug of the gateway.
      console.error('Bug in the upstream simulator:', error)
      call.fault = 'simulator-bug'
      response.destroy()
    }
  }
  call.status = response.headersSent ? response.statusCode : null
  call.retryAfter = response.getHeader('retry-after')?.toString() ?? null
  call.endedAt = Date.now()
  call.clientAborted = !response.writableFinished

  async function answer(): Promise<void> {
    const read = await readOrder(operation, request, call)
    if (call.apiKeyDigest === null) return refuse('bad-key', badKeyReply(vendor))
    if (!read.ok) return refuse('invalid', problemReply[family](read.failure))
    const planned = plan.next(read.value)
    if (!planned.ok) return refuse('bad-directive', problemReply[family](planned.failure))
    const isBad = 'isBad' in operation.endpoint
    const fault = planned.value ?? (isBad ? deps.nextOfBadRelay() : undefined)
    call.fault = fault?.kind ?? null
    if (fault?.kind === 'request-id') {
      response.removeHeader('x-request-id')
      if (fault.header !== 'none') response.setHeader(fault.header, call.id)
    }
    const afterMs = fault !== undefined && 'after' in fault ? fault.after : undefined
    if (afterMs !== undefined) await sleep(afterMs, undefined, { signal: gone })
    const reply = isOf('error', fault)
      ? errorReply(family, fault, read.value.model, strayUrl)
      : await imageReply(read.value, fault)
    return deliver(response, reply, isOf('transfer', fault) ? fault : undefined, gone)
  }

  function refuse(fault: string, reply: Reply): Promise<void> {
    call.fault = fault
    return deliver(response, reply)
  }

  /** If there is an image, the call costs money from here on, even if the answer never arrives. */
  async function imageReply(order: ImageOrder, fault: Fault | undefined): Promise<Reply> {
    const count = imageCount(order, fault)
    call.billed = count > 0
    const [images] = await Promise.all([
      makeImages(image, order, count, fault),
      plan.wait(order, fault, gone),
    ])
    const refusal = refusalReply[family]
    if (refusal && (fault?.kind === 'block' || fault?.kind === 'finish')) return refusal()
    if (isOf('shape', fault)) return shapeReply(order, images, fault)
    const answerFault = isOf('answer', fault) ? fault : undefined
    return jsonReply(200, order.answer(images, answerFault, strayUrl))
  }
}

/** Returns how many images are made for the call. If the number is not 0, the vendor charges for the call. */
function imageCount(order: ImageOrder, fault: Fault | undefined): number {
  if (fault?.kind === 'reset' || fault?.kind === 'hang') return 0
  // An earlier state of the image, which some shapes have, and the image.
  if (isOf('shape', fault)) return 2
  if (!isOf('answer', fault) || fault.kind === 'url') return order.count
  return fault.kind === 'two' ? fault.count : 0
}
