import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import type { ApiState } from '../context.ts'

/**
 * A request may be refused (401, 413) while its client is still sending the body. Closing the connection
 * at once would reset it, and the client would see a broken connection instead of the error. So the
 * connection stays open while the rest of the body is read and discarded, for at most this long.
 */
const readRestMs = 10_000

/**
 * Keeps the connection open behind an answer whose request body is not read yet, also when the client
 * asked for `Connection: close`: Node would close with the answer. `discardRest` closes it later.
 */
export function keepOpenForRest(): Middleware<ApiState> {
  return async ({ req, res }, next) => {
    await next()
    // A Connection header of our own means that no body follows: see `onExpectContinue` in `createServer.ts`.
    if (hasBody(req) && !req.complete && !res.hasHeader('Connection')) res.shouldKeepAlive = true
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Called when an answer has been sent: reads what is left of the request, then closes if asked to. */
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
