import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallLog, SimulatorCall } from './callLog.ts'
import {
  type Delivery,
  deliverBroken,
  deliverEarly,
  deliverWhole,
  isEarlyFault,
} from './deliver.ts'
import type { DrawImage } from './drawImage.ts'
import { type EncodedImage, encodeImages } from './encodeImages.ts'
import type { FaultPlan } from './faultPlan.ts'
import { type Fault, isAnswerFault, isDeliveryFault, isErrorFault } from './faults.ts'
import type { HoldGate } from './holdGate.ts'
import type { ImageOrder } from './imageOrder.ts'
import { type Latency, latencyMs } from './latency.ts'
import type { RateLimiter } from './rateLimiter.ts'
import {
  answerReply,
  badKeyReply,
  errorReply,
  imageCount,
  keyOf,
  type Operation,
  problemReply,
  readOrder,
  recordOrder,
} from './vendor.ts'

export type ServeDependencies = {
  readonly log: CallLog
  readonly plan: FaultPlan
  readonly limiter: RateLimiter
  readonly gate: HoldGate
  readonly draw: DrawImage
  readonly latency: Latency
  readonly vendorLimits: boolean
  readonly keys: { readonly A?: string; readonly B?: string }
  /** An address of the simulator's own, for redirects and image URLs that nobody should follow. */
  readonly elsewhere: (request: IncomingMessage) => string
  readonly closing: () => boolean
  readonly ended: (call: SimulatorCall) => void
}

type Exchange = Delivery & {
  readonly operation: Operation
  readonly request: IncomingMessage
  readonly call: SimulatorCall
}

/** One call of the vendor's API, from its headers to the last byte of the answer. */
export async function serveCall(
  operation: Operation,
  request: IncomingMessage,
  response: ServerResponse,
  deps: ServeDependencies,
): Promise<void> {
  const call = deps.log.open(request, operation.family, keyOf(operation.family, request))
  const gone = new AbortController()
  let brokenByUs = false
  response.once('close', () => gone.abort())
  response.setHeader('x-request-id', call.id)
  if (operation.family === 'B') response.setHeader('openai-version', '2020-10-01')
  const breaking = (): void => {
    brokenByUs = true
  }
  const exchange = { operation, request, call, response, gone: gone.signal, breaking }
  try {
    await answer(exchange, deps)
    if (!gone.signal.aborted) await once(gone.signal, 'abort')
  } catch (error) {
    // A request that was read to its end is destroyed, too.
    const cutOff = request.destroyed && !request.complete
    if (!gone.signal.aborted && !cutOff) reportBug(exchange, error)
  } finally {
    call.status = response.headersSent ? response.statusCode : null
    call.clientAborted = !response.writableFinished && !brokenByUs && !deps.closing()
    call.finishedAt = Date.now()
    deps.ended(call)
  }
}

/** Loudly: a fault that nobody ordered would be taken for one of the gateway's. */
function reportBug({ call, response, breaking }: Exchange, error: unknown): void {
  call.fault = 'simulator-bug'
  console.error('Bug in the upstream simulator:', error)
  breaking()
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'content-type': 'text/plain' }).end('simulator bug')
}

async function answer(exchange: Exchange, deps: ServeDependencies): Promise<void> {
  const { operation, request, call, gone } = exchange
  const { family } = operation
  const read = await readOrder(operation, request, call, deps)
  if (read.ok) recordOrder(call, read.order)
  if (!keyAccepted(exchange, deps)) {
    call.fault = 'bad-key'
    return deliverWhole(exchange, badKeyReply(family))
  }
  if (!read.ok) {
    call.fault = 'invalid'
    return deliverWhole(exchange, problemReply(family, read.problem))
  }
  const { order } = read
  const limited = deps.limiter.check(order, Date.now())
  const planned = limited === null ? deps.plan.next(order) : { ok: true as const, fault: limited }
  if (!planned.ok) {
    call.fault = 'bad-directive'
    return deliverWhole(exchange, problemReply(family, { status: 400, message: planned.message }))
  }
  const { fault } = planned
  call.fault = limited === null ? (fault?.kind ?? null) : 'limit'
  if (isErrorFault(fault)) {
    await sleep(fault.delay ?? 0, undefined, { signal: gone })
    return deliverWhole(exchange, errorReply(order, fault, Date.now()))
  }
  if (isDeliveryFault(fault) && isEarlyFault(fault)) {
    await sleep(fault.delay ?? 0, undefined, { signal: gone })
    return deliverEarly(exchange, fault, deps.elsewhere(request))
  }
  return produce(exchange, order, fault, deps)
}

/** The vendor works: from here on the call costs money, whether or not its answer arrives. */
async function produce(
  exchange: Exchange,
  order: ImageOrder,
  fault: Fault | null,
  deps: ServeDependencies,
): Promise<void> {
  const { call, gone, request } = exchange
  const count = imageCount(order, fault)
  call.billed = count > 0
  if (fault?.kind === 'hold') await deps.gate.wait(order, gone)
  const [images] = await Promise.all([
    encodeImages(order, count, fault, deps.draw),
    sleep(waitOf(order, fault, deps.latency), undefined, { signal: gone }),
  ])
  const answerFault = isAnswerFault(fault) ? fault : null
  const reply = answerReply(order, images, answerFault, deps.elsewhere(request))
  if (order.family === 'B') {
    exchange.response.setHeader('openai-processing-ms', String(Date.now() - call.at))
  }
  if (!isDeliveryFault(fault) || isEarlyFault(fault)) return deliverWhole(exchange, reply)
  return deliverBroken(exchange, reply, fault, growAt(reply.body, images))
}

function waitOf(order: ImageOrder, fault: Fault | null, latency: Latency): number {
  if (fault?.kind === 'delay') return fault.ms
  if (fault?.kind === 'hold') return fault.delay ?? 0
  return fault?.delay ?? latencyMs(latency, order)
}

/** Before the last four characters of the first image: base64 goes on there in whole groups. */
function growAt(body: string, images: readonly EncodedImage[]): number {
  const data = images[0]?.data ?? ''
  return data === '' ? 0 : body.indexOf(data) + data.length - 4
}

function keyAccepted({ operation, request }: Exchange, deps: ServeDependencies): boolean {
  const key = keyOf(operation.family, request)
  const accepted = deps.keys[operation.family]
  return key !== null && (accepted === undefined || key === accepted)
}
