import { z } from 'zod'
import { idempotencyKeyBytesMax } from '../domain/limits.ts'

/** The request header of every route that makes a task. */
export const idempotencyKey = z.object({
  'Idempotency-Key': z.string().min(1).max(idempotencyKeyBytesMax).optional().meta({
    description:
      'Makes a retry safe: the same key with the same request is the same task, and is paid for once. At most 255 bytes. With a different request the answer is 409.',
    example: 'order-1842-image-1',
  }),
})

/** The request header with which a lookup waits for the end of its task. */
export const preferWait = z.object({
  Prefer: z.string().optional().meta({
    description:
      'With `wait=N` (RFC 7240, N from 1 to 60), the answer comes when the task has ended, or after N seconds. Anything else is ignored.',
    example: 'wait=60',
  }),
})

/** The request header with which an event stream goes on after the last event that the client has seen. */
export const lastEventId = z.object({
  'Last-Event-ID': z.string().optional().meta({
    description:
      'The id of the last event that the client has seen. `EventSource` sends it by itself.',
    example: '41',
  }),
})
