import type { Middleware } from 'koa'
import type { IncomingMessage } from 'node:http'
import type { ApiState } from '../context.ts'

/**
 * How long the rest of a body is read and discarded after an early error answer (401, 413). If the server
 * closed the connection while the client is still sending, the system would reset the connection, and the
 * client would see a broken connection instead of the error. Ten seconds are enough for most clients to read
 * the answer and stop.
 */
const readRestMs = 10_000

/**
 * Keeps the connection open after an answer if the body of its request is not read to the end, also when the
 * client asked for `Connection: close`: Node would close the connection together with the answer. `discardRest`
 * closes the connection later.
 */
export function keepOpenForRest(): Middleware<ApiState> {
  return async ({ req, res }, next) => {
    await next()
    // If we set a Connection header, Node closes the connection with the answer, because nobody knows whether a body
    // follows: see `onExpectContinue` in `createServer.ts`.
    if (hasBody(req) && !req.complete && !res.hasHeader('Connection')) res.shouldKeepAlive = true
  }
}

/** Returns whether a request has a body, according to its headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/**
 * Reads and discards what is left of a request, and then closes the connection if the client asked for that.
 * Call this when the answer has been sent.
 */
export function discardRest(request: IncomingMessage): void {
  const { socket } = request
  const closeIfAsked = () => {
    if (asksForClose(request)) socket.end()
  }
  if (request.complete || request.destroyed) return closeIfAsked()
  const timer = setTimeout(() => socket.destroy(), readRestMs)
  request.once('error', () => {})
  request.once('close', () => clearTimeout(timer))
  request.once('end', closeIfAsked)
  request.resume()
}

function asksForClose({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' || /\bclose\b/i.test(headers.connection ?? '')
}
