import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * A body that is refused before its end: closing at once would reset the connection, and its client,
 * still writing, would never read the answer. So the connection outlives the answer while the rest is
 * read and thrown away, for so long at most.
 */
const lingerMs = 10_000

/** Called before a refusal is written: node would close with the answer when the client asked it to. */
export function keepOpenForRest(request: IncomingMessage, response: ServerResponse): void {
  // A Connection header of our own means that no body will come: see `createServer.ts`.
  if (hasBody(request) && !request.complete && !response.hasHeader('Connection')) {
    response.shouldKeepAlive = true
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Called when an answer has been sent: reads what is left of its request. */
export function readRest(request: IncomingMessage): void {
  const { socket } = request
  const leave = () => {
    if (wantsClose(request)) socket.end()
  }
  if (request.complete || request.destroyed) return leave()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  request.once('error', () => {})
  request.once('close', () => clearTimeout(timer))
  request.once('end', leave)
  request.resume()
}

function wantsClose({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.0' || /\bclose\b/i.test(headers.connection ?? '')
}
