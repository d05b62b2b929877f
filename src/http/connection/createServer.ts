import type Koa from 'koa'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { answerBrokenRequest } from './answerBrokenRequest.ts'
import { createRequestTurns } from './requestTurns.ts'
import type { ApiDeps, ApiState } from '../context.ts'
import { discardRest } from './unreadBody.ts'

/** All headers of one request together: about three times what clients with many headers send. */
const headerBytesMax = 16 * 1024
const headersTimeoutMs = 30_000

/**
 * From the first byte of a request to its last. At 100 KiB/s the largest body that the API contract allows,
 * 86 MiB, takes this long. Node's default of 300 s would fail every client slower than 290 KiB/s.
 */
const requestTimeoutMs = 900_000

/**
 * Longer than the idle timeout of common load balancers (60 s). Otherwise Darkroom could close a connection
 * at the moment when the balancer sends a request over it.
 */
const keepAliveTimeoutMs = 75_000
const connectionsCheckMs = 5_000

/** A client that does not read its answer for this long is disconnected: it holds memory or an open file. */
const unreadTimeoutMsDefault = 60_000

/** The HTTP server of `createApp`. The caller makes it listen (`listen`) and closes it. */
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
    // `requireHost` of `middleware.ts` checks it, with an answer in the envelope of the API.
    requireHostHeader: false,
    insecureHTTPParser: false,
  })
  const handle = app.callback()
  const turns = createRequestTurns()

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    response.setTimeout(unreadTimeoutMs, () => {
      // With nothing left to read, the client waits for us: a synchronous call waits for its image.
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    response.once('finish', () => discardRest(request))
    response.once('close', () => {
      // `server.close` closed the connections that were idle then. This one was busy, and is idle now.
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
    turns.take(request, response, () => void handle(request, response))
  }

  /**
   * The client waits for `100 Continue` before it sends its body. When it is refused instead, it may send
   * the body or not, and the server cannot tell which: the connection can serve no other request.
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
 * Makes a server listen and returns its port; port 0 picks a free one. Rejects with the system's error
 * when the address cannot be used.
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
