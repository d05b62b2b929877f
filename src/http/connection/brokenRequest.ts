import type { IncomingMessage, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { defined } from '../../domain/defined.ts'
import type { ApiDeps } from '../context.ts'
import type { Description } from '../errors.ts'
import { errorBody } from '../errors.ts'
import { newRequestId } from '../middleware/observeRequest.ts'

/** A client that has its answer and does not close the connection is not waited for. */
const lingerMs = 10_000

/**
 * Answers what Node's parser refused, in our envelope, and closes. The client's bytes are not quoted,
 * nor what the parser says about them.
 */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { randomBytes }: Pick<ApiDeps, 'randomBytes'>,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  const description = describeParserError(error.code)
  const requestId = newRequestId(randomBytes)
  const body = JSON.stringify(errorBody(description, 'full', requestId))
  socket.end(
    [
      `HTTP/1.1 ${description.status} ${STATUS_CODES[description.status] ?? ''}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'Access-Control-Allow-Origin: *',
      'X-Content-Type-Options: nosniff',
      `x-request-id: ${requestId}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

function describeParserError(code: string | undefined): Description {
  switch (code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return broken(431, 'The request headers are too large.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return broken(408, 'The request did not arrive in time.')
    default:
      return broken(400, 'The request is not valid HTTP.')
  }
}

function broken(status: number, message: string): Description {
  return { status, type: 'invalid_request_error', code: 'invalid_request', param: null, message }
}

/** What each connection is busy with, so that a broken request is refused where its answer belongs. */
type Exchanges = {
  readonly begin: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * What follows on the connection cannot be parsed: calls `refuse` once every answer before it has been
   * sent. Destroys the connection when the broken request is being answered already.
   */
  readonly refuseInTurn: (socket: Duplex, refuse: () => void) => void
}

type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The answer before this one on the same connection. */
  readonly before?: ServerResponse
}

export function createExchanges(): Exchanges {
  const latest = new WeakMap<Duplex, Exchange>()
  const broken = new WeakSet<Duplex>()

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const before = latest.get(request.socket)?.response
    latest.set(request.socket, { request, response, ...defined({ before }) })
  }

  function refuseInTurn(socket: Duplex, refuse: () => void): void {
    // The parser says so again with every further packet.
    if (broken.has(socket)) return
    broken.add(socket)
    const exchange = latest.get(socket)
    if (exchange === undefined) return refuse()
    const { request, response, before } = exchange
    if (!request.complete) {
      // It is the body of the latest request that is broken: its answer may be ours to give.
      const isNext = before === undefined || before.closed
      if (isNext && !response.headersSent) refuse()
      else socket.destroy()
    } else if (response.closed) refuse()
    else response.once('close', refuse)
  }

  return { begin, refuseInTurn }
}
