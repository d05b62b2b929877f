import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiDeps, HttpFailure } from '../context.ts'
import { errorBody, errorReply } from '../errors.ts'
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
  const answer = errorReply(failureOf(error.code))
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
