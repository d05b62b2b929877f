import { z } from 'zod'
import { idempotencyKeyBytesMax } from '../domain/limits.ts'

/** The request header of every route that makes a task, for the description. `acceptTask.ts` reads its bytes. */
export const idempotencyKey = {
  'Idempotency-Key': z.string().min(1).max(idempotencyKeyBytesMax).optional().meta({
    description:
      'Makes a retry safe: the same key with the same request is the same task, and is paid for once. At most 255 bytes. With a different request the answer is 409.',
    example: 'order-1842-image-1',
  }),
}
