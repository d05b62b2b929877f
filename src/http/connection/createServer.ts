import type Koa from 'koa'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { ApiDeps, ApiState } from '../context.ts'
import { answerBrokenRequest, createExchanges } from './brokenRequest.ts'
import { readRest } from './lingering.ts'
import { createTurns } from './turns.ts'

/** The header block of a request: about three times what clients with many headers send. */
const headerBytesMax = 16 * 1024
const headersTimeoutMs = 30_000

/**
 * From the first byte of a request to its last: the largest body of the contract, 86 MiB, at 100 KiB/s.
 * Node's own 300 s would cut uplinks below 290 KiB/s (research/reliability.md section 4, Slow clients).
 */
const requestTimeoutMs = 900_000

/** Longer than any balancer's idle time (60 s), so that it is never we who close under its request. */
const keepAliveTimeoutMs = 75_000
const connectionsCheckMs = 5_000

/** A client that takes no byte of its answer for so long holds a file or a pool of memory for nobody. */
const unreadTimeoutMs = 60_000

/**
 * The server of `createApp`; to be listened on and closed by its caller. `unreadMs`: how long an answer
 * may lie unread, default one minute.
 */
export function createServer(
  app: Koa<ApiState>,
  deps: Pick<ApiDeps, 'randomBytes'>,
  { unreadMs = unreadTimeoutMs }: { readonly unreadMs?: number } = {},
): Server {
  const server = createHttpServer({
    maxHeaderSize: headerBytesMax,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: connectionsCheckMs,
    // Checked by `requireHost.ts`, which answers in our envelope.
    requireHostHeader: false,
    insecureHTTPParser: false,
  })
  const handle = app.callback()
  const exchanges = createExchanges()
  const turns = createTurns()

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    exchanges.begin(request, response)
    response.setTimeout(unreadMs, () => {
      // Without anything to read, it is we who are silent: a synchronous call waits for its image.
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    response.once('finish', () => readRest(request))
    response.once('close', () => {
      // `close` of the server ended the idle connections of its moment; this one was busy then.
      if (!server.listening) setImmediate(() => server.closeIdleConnections())
    })
    turns(request, response, () => void handle(request, response))
  }

  /** Such a client waits before it sends its body; refused, it may send it or not: nobody could tell. */
  function onExpect(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('Connection', 'close')
    onRequest(request, response)
  }

  server.on('request', onRequest)
  server.on('checkContinue', onExpect)
  server.on('checkExpectation', onRequest)
  server.on('clientError', (error, socket) => {
    exchanges.refuseInTurn(socket, () => answerBrokenRequest(error, socket, deps))
  })
  return server
}

/** Gives the port once the server listens (0: a free one). Rejects with the system's error when it cannot. */
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
