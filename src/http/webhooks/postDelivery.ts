import type { LookupFunction, Socket } from 'node:net'
import { isIP } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { buildConnector, Client, errors } from 'undici'
import type { ResolveHost } from './resolveHost.ts'
import { createResolveHost } from './resolveHost.ts'
import type { WebhookPrivate } from './webhookAddress.ts'
import { hostOf, isAllowed } from './webhookAddress.ts'
import { defined } from '../../domain/defined.ts'
import type { Post, PostDelivery, PostOutcome } from '../../domain/ports/webhookStore.ts'
import { retryAfterMs } from '../../domain/retryAfter.ts'
import type { DeliveryError } from '../../domain/webhooks/delivery.ts'
import { tryTimeoutMs } from '../../domain/webhooks/delivery.ts'
import { waitMsMax } from '../../domain/webhooks/retries.ts'

const headerBytesMax = 16 * 1024
/** Limits for the body of the answer, which is read and thrown away so that the receiver can finish it. */
const discardedBytesMax = 16 * 1024
const discardMsMax = 1_000

/**
 * Creates the function that posts an event to a receiver. It resolves the name once, and connects only to those of
 * the found addresses that webhooks may reach, so that a second look-up cannot lead elsewhere. It follows no
 * redirect, uses no proxy, and ends after `timeoutMs` at most. It never throws.
 */
export function createPostDelivery(options: {
  readonly webhookPrivate: WebhookPrivate
  readonly resolveHost?: ResolveHost
  readonly timeoutMs?: number
}): PostDelivery {
  const { webhookPrivate, resolveHost = createResolveHost(), timeoutMs = tryTimeoutMs } = options
  return async (post) => {
    const signal = AbortSignal.timeout(timeoutMs)
    let client: Client | undefined
    try {
      const url = new URL(post.url)
      const host = hostOf(url)
      if (url.protocol === 'http:' && webhookPrivate === 'refuse') {
        throw new RefusedError('address_not_allowed')
      }
      const addresses = await withinLimit(
        signal,
        isIP(host) === 0 ? resolveHost(host) : Promise.resolve([host]),
      )
      if (addresses.length === 0) throw new RefusedError('name_not_resolved')
      const allowed = addresses.filter((address) => isAllowed(address, webhookPrivate))
      if (allowed.length === 0) throw new RefusedError('address_not_allowed')
      client = new Client(url.origin, {
        connect: connectorTo(allowed, timeoutMs),
        maxHeaderSize: headerBytesMax,
        headersTimeout: timeoutMs,
        bodyTimeout: discardMsMax,
      })
      return await send(client, url, post, signal)
    } catch (error) {
      return { error: signal.aborted ? 'timeout' : errorOf(error) }
    } finally {
      client?.destroy().catch(() => {})
    }
  }
}

async function send(
  client: Client,
  url: URL,
  post: Post,
  signal: AbortSignal,
): Promise<PostOutcome> {
  const answer = await client.request({
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    headers: signedHeaders(post, Date.now()),
    body: post.body,
    signal,
    reset: true,
  })
  const discarding = AbortSignal.any([signal, AbortSignal.timeout(discardMsMax)])
  await answer.body.dump({ limit: discardedBytesMax, signal: discarding }).catch(() => {})
  const httpStatus = answer.statusCode
  const waitMs = retryAfterMs({ headers: answer.headers, nowMs: Date.now() }, waitMsMax)
  return { httpStatus, ...defined({ retryAfterMs: waitMs }) }
}

/**
 * Returns the function with which undici opens the connection of one try. It resolves no name: it gives undici the
 * checked addresses. When the connection is open, it checks that the other end has one of them.
 */
function connectorTo(allowed: readonly string[], timeoutMs: number): buildConnector.connector {
  const lookup: LookupFunction = (_host, options, callback) => {
    const found = allowed.map((address) => ({ address, family: isIP(address) }))
    const [first] = found
    if (options.all === true) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }
  const connect = buildConnector({
    lookup,
    autoSelectFamily: true,
    timeout: timeoutMs,
    allowH2: false,
    maxCachedSessions: 0,
  })
  return (options, callback) => {
    connect(options, (...result) => {
      const [error, socket] = result
      if (error !== null) return callback(error, null)
      if (isConnectedTo(socket, allowed)) return callback(null, socket)
      socket.destroy()
      return callback(new RefusedError('address_not_allowed'), null)
    })
  }
}

function isConnectedTo({ remoteAddress = '' }: Socket, allowed: readonly string[]): boolean {
  const same = (address: string) =>
    new URL(`http://${isIP(address) === 6 ? `[${address}]` : address}`).host
  return isIP(remoteAddress) !== 0 && allowed.some((each) => same(each) === same(remoteAddress))
}

class RefusedError extends Error {
  readonly reason: DeliveryError

  constructor(reason: DeliveryError) {
    super(reason)
    this.reason = reason
  }
}

async function withinLimit<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const onAbort = () => late.reject(new RefusedError('timeout'))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, late.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function errorOf(error: unknown): DeliveryError {
  if (error instanceof RefusedError) return error.reason
  if (error instanceof errors.ConnectTimeoutError) return 'timeout'
  if (error instanceof errors.HeadersTimeoutError) return 'timeout'
  if (error instanceof errors.SocketError) return 'connection_failed'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^(HPE_|UND_ERR_(HEADERS_OVERFLOW|INVALID|RES))/.test(code)) return 'answer_not_read'
  if (/^(ERR_(SSL|TLS)|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|EPROTO|HOSTNAME)/.test(code)) {
    return 'tls_failed'
  }
  return 'connection_failed'
}

/**
 * Returns the headers of one try: the id of the delivery, the time of the try in Unix seconds, and one signature
 * for each secret, as the specification of Standard Webhooks says.
 */
export function signedHeaders(
  { deliveryId, body, secrets }: Post,
  nowMs: number,
): Record<string, string> {
  const at = new Date(nowMs)
  const signatures = secrets.map((secret) => new Webhook(secret).sign(deliveryId, at, body))
  return {
    'content-type': 'application/json',
    'user-agent': 'Darkroom-Webhooks/1',
    'webhook-id': deliveryId,
    'webhook-timestamp': String(Math.floor(nowMs / 1000)),
    'webhook-signature': signatures.join(' '),
  }
}
