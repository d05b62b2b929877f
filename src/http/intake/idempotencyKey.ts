import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { idempotencyKeyBytesMax } from '../../domain/limits.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'

/** Describes the request header of every route that makes a task. */
export const idempotencyKey = {
  'Idempotency-Key': z.string().min(1).max(idempotencyKeyBytesMax).optional().meta({
    description:
      'Makes a retry safe: the same key with the same request is the same task, and is paid for once. At most 255 bytes. With a different request the answer is 409.',
    example: 'order-1842-image-1',
  }),
}

/**
 * Returns the bytes of the Idempotency-Key header as they were sent, including quotes. Returns `undefined` when the
 * request has no such header. Fails when the header is given twice, is empty or is too long. Node decodes headers as
 * latin1, so the length of the text is the number of bytes.
 */
export function readIdempotencyKey(
  request: IncomingMessage,
): Result<Uint8Array | undefined, RequestFailure> {
  const [key, ...others] = request.headersDistinct['idempotency-key'] ?? []
  if (key === undefined) return succeed(undefined)
  if (others.length > 0) return fail(invalidKey('is given more than once'))
  if (key === '') return fail(invalidKey('is empty'))
  if (key.length > idempotencyKeyBytesMax) {
    return fail(invalidKey(`is longer than ${idempotencyKeyBytesMax} bytes`))
  }
  return succeed(Buffer.from(key, 'latin1'))
}

function invalidKey(why: string): RequestFailure {
  const message = `The Idempotency-Key header ${why}.`
  return invalidRequest('invalid_value', 'Idempotency-Key', message)
}
