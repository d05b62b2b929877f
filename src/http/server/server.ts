import type Koa from 'koa'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpServer, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiState } from '../requestState.ts'
import type { HttpFailure } from '../errors.ts'
import { errorBody, errorReply } from '../errors.ts'
import { hasBody } from '../intake/body.ts'
import { newRequestId } from '../middleware.ts'

/** Limit for all headers of one request together. About three times what clients with many headers send. */
const headerBytesMax = 16 * 1024
const headersTimeoutMs = 30_000

/**
 * Limit for the time from the first byte of a request to its last. Long enough for the largest body that the
 * API contract allows (86 MiB) at 100 KiB/s. With Node's default of 300 s, such a body would fail below 290
 * KiB/s.
 */
const requestTimeoutMs = 900_000

/**
 * How long an idle connection stays open: longer than the idle timeout of common load balancers (60 s), and, because many
 * have one timeout for idle connections and for silent answers, longer than the longest silent answer. So the balancer
 * closes first. Otherwise Darkroom could close a connection just when the balancer sends a request over it.
 */
const keepAliveMsMin = 75_000
const keepAliveExtraMs = 60_000
const connectionsCheckMs = 5_000

/**
 * How long nothing may pass over the connection of a request whose client owes something. One that reads none of its
 * answer is disconnected, because its answer takes memory or an open file. One that sends none of its body is refused by
 * `body.ts`, to which Node passes the event. Long enough for a short break of a mobile connection.
 */
const idleTimeoutMsDefault = 60_000

type ServerOptions = {
  /** The longest time before an answer sends its first byte. Default: 0. */
  readonly silentMsMax?: number
  readonly idleTimeoutMs?: number
  /** Whether pages of any origin may read the answers. Default: true. */
  readonly anyOrigin?: boolean
}

/**
 * Creates the HTTP server for the application of a process. The caller starts it with `listen` and ends
 * it with `closeServer`.
 */
export function createServer(
  app: Koa<ApiState>,
  { silentMsMax = 0, idleTimeoutMs = idleTimeoutMsDefault, anyOrigin = true }: ServerOptions = {},
): Server {
  const server = createHttpServer({
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: Math.max(keepAliveMsMin, silentMsMax + keepAliveExtraMs),
    connectionsCheckingInterval: connectionsCheckMs,
  })
  const handle = app.callback()
  const latestAnswers = new WeakMap<Duplex, ServerResponse>()
  const refusedAfter = new WeakSet<ServerResponse>()

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    latestAnswers.set(request.socket, response)
    request.socket.setTimeout(idleTimeoutMs)
    response.on('timeout', () => {
      // Disconnect only if the client has unread bytes. Without unread bytes the client is waiting for us,
      // for example a synchronous call for its image.
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    readRestAfter(request, response)
    response.once('close', () => {
      // `server.close` closes only the connections that are idle at that moment. This connection was busy
      // then and is idle now, so it is closed here.
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
    void handle(request, response)
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const refuse = () => refuseOn(socket, failureOf(error.code), anyOrigin)
    const latest = latestAnswers.get(socket)
    if (latest === undefined) refuse()
    // The rest of a body that is read on after an early answer is broken. Its request has its answer already.
    else if (latest.closed && !latest.req.complete) socket.destroy()
    else if (latest.closed) refuse()
    // The bytes after a whole request are broken. No client may take the error for the answer to that request.
    else if (latest.req.complete) {
      // The parser reports every further packet.
      if (!refusedAfter.has(latest)) latest.once('close', refuse)
      refusedAfter.add(latest)
    }
    // The body of a request is broken. The answer has begun, or waits for an earlier one, which has the socket.
    else if (latest.headersSent || latest.socket === null) socket.destroy()
    else refuse()
  }

  // Node takes its own listener from a socket that it hands over. An error that nobody hears ends the process.
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.on('request', onRequest)
  // An expectation that a server does not know may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', onRequest)
  const noTunnel: HttpFailure = { tag: 'method_not_allowed', allow: [] }
  server.on('connect', (_request, socket) => {
    // No client may take the refusal for the answer to the request before it.
    if (latestAnswers.get(socket)?.closed === false) socket.destroy()
    else refuseOn(socket, noTunnel, anyOrigin)
  })
  server.on('clientError', onClientError)
  return server
}

/**
 * After an early error answer (401, 413), goes on reading the body and discards it. If the connection were closed while
 * the client still sends, the system would reset it, and many clients would see a broken connection instead of the
 * answer: they read only when they have sent everything. So the connection stays open too when the client asked for its
 * end (`Connection: close`), until the body is there or `requestTimeoutMs` is over.
 */
function readRestAfter(request: IncomingMessage, response: ServerResponse): void {
  const closes = !response.shouldKeepAlive && hasBody(request)
  if (closes) response.shouldKeepAlive = true
  response.once('finish', () => {
    const close = () => {
      if (closes) request.socket.end()
    }
    if (request.complete) {
      close()
      return
    }
    request.once('end', close)
    request.resume()
  })
}

/** How long the client may keep the connection open after the answer to a broken request. */
const closeTimeoutMs = 10_000

/**
 * Answers what is no request for the application, such as bytes that Node's HTTP parser could not read, and closes the
 * connection. The body is an error in the full envelope. It quotes neither the client's bytes nor the parser's message.
 */
function refuseOn(socket: Duplex, failure: HttpFailure, anyOrigin: boolean): void {
  // The parser reports every further packet of a broken connection.
  if (!socket.writable) return
  const timer = setTimeout(() => socket.destroy(), closeTimeoutMs)
  socket.once('close', () => clearTimeout(timer))
  // Of these failures only that of a tunnel names its request.
  const answer = errorReply(failure, 'CONNECT')
  const requestId = newRequestId()
  const body = JSON.stringify(errorBody(answer, 'full', requestId))
  socket.end(
    [
      `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      ...(anyOrigin ? ['Access-Control-Allow-Origin: *'] : []),
      'X-Content-Type-Options: nosniff',
      `x-request-id: ${requestId}`,
      ...Object.entries(answer.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

/** Returns the failure for an error code of Node's parser or of Node's request timeout. */
function failureOf(code: string | undefined): HttpFailure {
  switch (code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return { tag: 'headers_too_large' }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { tag: 'request_timeout' }
    default:
      return { tag: 'not_http' }
  }
}

/**
 * Stops accepting connections and waits for the requests under way. After `drainMs` it closes their connections.
 */
export async function closeServer(server: Server, drainMs: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const timer = setTimeout(() => server.closeAllConnections(), drainMs)
  await closed
  clearTimeout(timer)
}

/**
 * Makes a server listen and returns its port. Port 0 lets the system choose a free port. Rejects with the
 * system's error when the address cannot be used.
 */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  // From now on an error is of one connection, which the system could not accept: it lacks a file or memory.
  server.on('error', () => {})
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Bug: not a TCP listener')
  return address.port
}
