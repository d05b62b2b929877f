import type { IncomingMessage } from 'node:http'
import { idempotencyKeyBytesMax } from '../domain/limits.ts'
import type { RequestFailure } from '../domain/requestFailure.ts'
import { invalidRequest } from '../domain/requestFailure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'

const param = 'Idempotency-Key'

/**
 * The bytes of the Idempotency-Key as sent: node gives header bytes as latin1, so their number is the
 * text's length (design section 4). Quotes, if any, are part of the key. Absent: `undefined`.
 */
export function readIdempotencyKey(
  request: IncomingMessage,
): Result<Uint8Array | undefined, RequestFailure> {
  const [key, ...more] = request.headersDistinct['idempotency-key'] ?? []
  if (key === undefined) return succeed(undefined)
  if (more.length > 0) return refuse('is given more than once')
  if (key === '') return refuse('is empty')
  if (key.length > idempotencyKeyBytesMax) {
    return refuse(`is longer than ${idempotencyKeyBytesMax} bytes`)
  }
  return succeed(Buffer.from(key, 'latin1'))
}

function refuse(what: string): Result<undefined, RequestFailure> {
  return fail(invalidRequest('invalid_value', param, `The ${param} header ${what}.`))
}
