import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiDeps } from '../context.ts'
import type { ErrorReply } from '../errors.ts'
import { errorBody } from '../errors.ts'
import { newRequestId } from '../middleware.ts'

/**
 * How long the client may keep the connection open after its error answer. Then we destroy the connection.
 */
const closeTimeoutMs = 10_000

/**
 * Answers a request that Node's HTTP parser could not read, and closes the connection. The body is an error in the
 * full envelope. It quotes neither the client's bytes nor the parser's message.
 */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { randomBytes }: Pick<ApiDeps, 'randomBytes'>,
): void {
  const timer = setTimeout(() => socket.destroy(), closeTimeoutMs)
  socket.once('close', () => clearTimeout(timer))
  const answer = errorReplyOf(error.code)
  const requestId = newRequestId(randomBytes)
  const body = JSON.stringify(errorBody(answer, 'full', requestId))
  socket.end(
    [
      `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
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

/** Returns the answer for an error code of Node's parser or of Node's request timeout. */
function errorReplyOf(code: string | undefined): ErrorReply {
  switch (code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return invalid(431, 'The request headers are too large.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return invalid(408, 'The request did not arrive in time.')
    default:
      return invalid(400, 'The request is not valid HTTP.')
  }
}

function invalid(status: number, message: string): ErrorReply {
  return { status, type: 'invalid_request_error', code: 'invalid_request', param: null, message }
}
