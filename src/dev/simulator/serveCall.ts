import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallEntry, CallLog, SimulatorCall } from './callLog.ts'
import type { Delivery } from './deliver.ts'
import { deliverConnectionFault, deliverTransferFault, deliverWhole } from './deliver.ts'
import type { EncodedImage, ImageMode } from './drawImage.ts'
import { makeImages } from './drawImage.ts'
import type { Operation } from './endpoints.ts'
import { badKeyReply, keyOf } from './endpoints.ts'
import type { FaultPlan } from './faultPlan.ts'
import type { Fault } from './faults.ts'
import { isAnswerFault, isConnectionFault, isErrorFault, isTransferFault } from './faults.ts'
import type { ImageOrder } from './imageOrder.ts'
import type { CallLatency } from './latency.ts'
import type { RateLimiter } from './rateLimiter.ts'
import { answerReply, errorReply, imageCount, problemReply, readOrder } from './vendor.ts'

export type ServeDependencies = {
  readonly log: CallLog
  readonly plan: FaultPlan
  readonly limiter: RateLimiter
  readonly latency: CallLatency
  readonly image: ImageMode
  /**
   * Aborts when the simulator closes. Clients that lose their connection after that did not leave by
   * themselves.
   */
  readonly closing: AbortSignal
  /** Called with the log entry when a call ends. */
  readonly ended: (call: SimulatorCall) => void
}

type Exchange = Delivery & {
  readonly operation: Operation
  readonly request: IncomingMessage
  readonly entry: CallEntry
}

/**
 * The path to which redirects and image URLs in the simulator's answers point. A client must not follow
 * addresses that an upstream sends. The simulator counts the requests for this path, and tests expect none.
 */
export const strayPath = '/elsewhere/image.png'

/** Serves one call of a vendor's API, from its headers to the last byte of the answer. */
export async function serveCall(
  operation: Operation,
  request: IncomingMessage,
  response: ServerResponse,
  deps: ServeDependencies,
): Promise<void> {
  const entry = deps.log.open(request, operation.family, keyOf(operation.vendor, request))
  const connection = new AbortController()
  const gone = connection.signal
  let brokenBySimulator = false
  const breaking = (): void => {
    brokenBySimulator = true
  }
  const exchange: Exchange = { operation, request, entry, response, gone, breaking }
  response.once('close', () => connection.abort())
  response.setHeader('x-request-id', entry.current().id)
  if (operation.family === 'B') response.setHeader('openai-version', '2020-10-01')
  try {
    await answer(exchange, deps)
    if (!gone.aborted) await once(gone, 'abort')
  } catch (error) {
    // Node also destroys a request that was read to its end. So `destroyed` alone does not show that the
    // client left.
    const cutOff = request.destroyed && !request.complete
    if (!gone.aborted && !cutOff) reportBug(exchange, error)
  } finally {
    entry.note({
      status: response.headersSent ? response.statusCode : null,
      clientAborted: !response.writableFinished && !brokenBySimulator && !deps.closing.aborted,
      finishedAt: Date.now(),
    })
    deps.ended(entry.current())
  }
}

/** Reports a bug of the simulator on stderr. Otherwise a test would take it for a bug of the gateway. */
function reportBug({ entry, response, breaking }: Exchange, error: unknown): void {
  entry.note({ fault: 'simulator-bug' })
  console.error('Bug in the upstream simulator:', error)
  breaking()
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'content-type': 'text/plain' }).end('simulator bug')
}

async function answer(exchange: Exchange, deps: ServeDependencies): Promise<void> {
  const { operation, request, entry } = exchange
  const { family } = operation
  const read = await readOrder(operation, request, entry)
  if (!entry.current().apiKeyPresent) {
    entry.note({ fault: 'bad-key' })
    return deliverWhole(exchange, badKeyReply(operation.vendor))
  }
  if (!read.ok) {
    entry.note({ fault: 'invalid' })
    return deliverWhole(exchange, problemReply(family, read.failure))
  }
  const order = read.value
  const limited = deps.limiter.check(order.model, Date.now())
  if (limited !== undefined) {
    entry.note({ fault: 'limit' })
    return deliver(exchange, order, limited, deps)
  }
  const planned = deps.plan.next(order)
  if (!planned.ok) {
    entry.note({ fault: 'bad-directive' })
    return deliverWhole(exchange, problemReply(family, { status: 400, message: planned.failure }))
  }
  entry.note({ fault: planned.value?.kind ?? null })
  return deliver(exchange, order, planned.value, deps)
}

async function deliver(
  exchange: Exchange,
  order: ImageOrder,
  fault: Fault | undefined,
  deps: ServeDependencies,
): Promise<void> {
  if (isErrorFault(fault)) {
    await sleep(fault.delay ?? 0, undefined, { signal: exchange.gone })
    return deliverWhole(exchange, errorReply(order, fault, Date.now()))
  }
  if (isConnectionFault(fault)) {
    await sleep(fault.delay ?? 0, undefined, { signal: exchange.gone })
    return deliverConnectionFault(exchange, fault, strayUrl(exchange.request))
  }
  return produce(exchange, order, fault, deps)
}

/** Makes the images. If there is one or more, the call costs money from here on, even if its answer never arrives. */
async function produce(
  exchange: Exchange,
  order: ImageOrder,
  fault: Fault | undefined,
  deps: ServeDependencies,
): Promise<void> {
  const { entry, gone, request, response } = exchange
  const count = imageCount(order, fault)
  entry.note({ billed: count > 0 })
  const [images] = await Promise.all([
    makeImages(deps.image, order, count, fault),
    deps.latency.wait(order, fault, gone),
  ])
  const answerFault = isAnswerFault(fault) ? fault : undefined
  const reply = answerReply(order, images, answerFault, strayUrl(request))
  if (order.family === 'B') {
    response.setHeader('openai-processing-ms', String(Date.now() - entry.current().at))
  }
  return isTransferFault(fault)
    ? deliverTransferFault(exchange, reply, fault, growAt(reply.body, images))
    : deliverWhole(exchange, reply)
}

function strayUrl({ headers }: IncomingMessage): string {
  return `http://${headers.host ?? 'localhost'}${strayPath}`
}

/**
 * Returns the position where more base64 can be inserted into the first image, or 0 when there is no image.
 * The position is before the last group of four characters, because only that group may contain padding.
 */
function growAt(body: string, images: readonly EncodedImage[]): number {
  const data = images[0]?.data ?? ''
  return data === '' ? 0 : body.indexOf(data) + data.length - 4
}
