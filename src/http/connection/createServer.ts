import type Koa from 'koa'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { answerBrokenRequest } from './answerBrokenRequest.ts'
import { createRequestTurns } from './requestTurns.ts'
import type { ApiDeps, ApiState } from '../context.ts'
import { discardRest } from './unreadBody.ts'

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
 * How long an idle connection stays open. Longer than the idle timeout of common load balancers (60 s), so
 * that the balancer closes first. Otherwise Darkroom could close a connection just when the balancer sends a
 * request over it.
 */
const keepAliveTimeoutMs = 75_000
const connectionsCheckMs = 5_000

/**
 * A client that reads none of its answer for this long is disconnected, because its answer takes memory or an
 * open file. Long enough for a short break of a mobile connection.
 */
const unreadTimeoutMsDefault = 60_000

/**
 * Creates the HTTP server for the application of `createApp`. The caller starts it with `listen` and closes
 * it.
 */
export function createServer(
  app: Koa<ApiState>,
  deps: Pick<ApiDeps, 'randomBytes'>,
  { unreadTimeoutMs = unreadTimeoutMsDefault }: { readonly unreadTimeoutMs?: number } = {},
): Server {
  const server = createHttpServer({
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: connectionsCheckMs,
    // `requireHost` in `middleware.ts` checks the Host header instead, and answers in the envelope of the
    // API.
    requireHostHeader: false,
    insecureHTTPParser: false,
  })
  const handle = app.callback()
  const turns = createRequestTurns()

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    response.setTimeout(unreadTimeoutMs, () => {
      // Disconnect only if the client has unread bytes. Without unread bytes the client is waiting for us,
      // for example a synchronous call for its image.
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    response.once('finish', () => discardRest(request))
    response.once('close', () => {
      // `server.close` closes only the connections that are idle at that moment. This connection was busy
      // then and is idle now, so it is closed here.
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
    turns.take(request, response, () => void handle(request, response))
  }

  /**
   * Handles a request whose client waits for `100 Continue` before it sends its body. If we answer with an
   * error instead, the client may still send the body or leave it out. The server cannot tell which, so the
   * connection cannot serve another request.
   */
  function onExpectContinue(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('Connection', 'close')
    onRequest(request, response)
  }

  function onClientError(error: Error, socket: Duplex): void {
    turns.refuseNext(socket, () => {
      if (socket.writable) answerBrokenRequest(error, socket, deps)
    })
  }

  server.on('request', onRequest)
  server.on('checkContinue', onExpectContinue)
  server.on('checkExpectation', onRequest)
  server.on('clientError', onClientError)
  return server
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
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Bug: not a TCP listener')
  return address.port
}
