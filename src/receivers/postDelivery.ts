import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { callbackify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { Client, errors } from 'undici'
import type { ResolveHost } from './resolveHost.ts'
import { createResolveHost } from './resolveHost.ts'
import type { WebhookPrivate } from './webhookAddress.ts'
import { hostOf, isAllowed } from './webhookAddress.ts'
import { defined } from '../domain/defined.ts'
import type { Post, PostDelivery, PostOutcome } from '../tasks/webhooks/tryDelivery.ts'
import { retryAfterMs } from '../domain/upstream/retryAfter.ts'
import type { DeliveryError } from '../domain/webhooks/delivery.ts'
import { tryTimeoutMs } from '../domain/webhooks/delivery.ts'
import { waitMsMax } from '../domain/webhooks/retries.ts'

const headerBytesMax = 16 * 1024
/** Limits for the body of the answer, which is read and thrown away so that the receiver can finish it. */
const discardedBytesMax = 16 * 1024
const discardMsMax = 1_000

type Options = {
  readonly webhookPrivate: WebhookPrivate
  readonly resolveHost: ResolveHost
  /** Limit for a whole try, from the look-up of the name to the status of the answer. */
  readonly timeoutMs: number
}

/**
 * Creates the function that posts an event to a receiver. It connects to addresses that webhooks may reach, follows no
 * redirect, uses no proxy, and ends after `timeoutMs` at most. What a receiver does is an outcome: it throws only when the
 * secrets cannot sign.
 */
export function createPostDelivery({
  webhookPrivate,
  resolveHost = createResolveHost(),
  timeoutMs = tryTimeoutMs,
}: Pick<Options, 'webhookPrivate'> & Partial<Options>): PostDelivery {
  const options = { webhookPrivate, resolveHost, timeoutMs }
  return async (post) => {
    const headers = signedHeaders(post, Date.now())
    const signal = AbortSignal.timeout(timeoutMs)
    let client: Client | undefined
    try {
      const url = new URL(post.url)
      requireAllowed(url, webhookPrivate)
      client = createClient(url, options)
      return await send(client, url, { headers, body: post.body }, signal)
    } catch (error) {
      return { error: signal.aborted ? 'timeout' : errorOf(error) }
    } finally {
      client?.destroy().catch(() => {})
    }
  }
}

/** Checks what needs no look-up, at every try: the operator may have forbidden meanwhile what was allowed. */
function requireAllowed(url: URL, webhookPrivate: WebhookPrivate): void {
  const host = hostOf(url)
  const isForbidden = isIP(host) !== 0 && !isAllowed(host, webhookPrivate)
  if (isForbidden || (url.protocol === 'http:' && webhookPrivate === 'refuse')) {
    throw new RefusedError('address_not_allowed')
  }
}

/**
 * Creates the connection of one try. Its look-up is the only one, and fails when any address of the name is forbidden.
 * So the address that is checked is the one that is connected to. It is not called for a host that is an address.
 */
function createClient(
  { origin }: URL,
  { webhookPrivate, resolveHost, timeoutMs }: Options,
): Client {
  const find = callbackify(async (host: string) => {
    const addresses = await resolveHost(host)
    if (addresses.length === 0) throw new RefusedError('name_not_resolved')
    if (addresses.every((address) => isAllowed(address, webhookPrivate))) {
      return addresses.map((address) => ({ address, family: isIP(address) }))
    }
    throw new RefusedError('address_not_allowed')
  })
  const lookup: LookupFunction = (host, _options, callback) => find(host, callback)
  return new Client(origin, {
    // With `autoSelectFamily` Node asks for all addresses of the name, and tries one after the other.
    connect: { lookup, autoSelectFamily: true, timeout: timeoutMs },
    allowH2: false,
    maxCachedSessions: 0,
    maxHeaderSize: headerBytesMax,
    headersTimeout: timeoutMs,
    bodyTimeout: discardMsMax,
  })
}

async function send(
  client: Client,
  url: URL,
  sent: { readonly headers: Record<string, string>; readonly body: Post['body'] },
  signal: AbortSignal,
): Promise<PostOutcome> {
  const answer = await client.request({
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    ...sent,
    signal,
    reset: true,
  })
  const discarding = AbortSignal.any([signal, AbortSignal.timeout(discardMsMax)])
  await answer.body.dump({ limit: discardedBytesMax, signal: discarding }).catch(() => {})
  const httpStatus = answer.statusCode
  const waitMs = retryAfterMs({ headers: answer.headers, nowMs: Date.now() }, waitMsMax)
  return { httpStatus, ...defined({ retryAfterMs: waitMs }) }
}

class RefusedError extends Error {
  readonly reason: DeliveryError

  constructor(reason: DeliveryError) {
    super(reason)
    this.reason = reason
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
