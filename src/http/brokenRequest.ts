import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiDeps } from './apiDeps.ts'
import type { Description } from './describeFailure.ts'
import { errorBody } from './errors.ts'
import { newRequestId } from './startRequest.ts'

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
