import { z } from 'zod'
import { idempotencyKeyBytesMax } from '../domain/limits.ts'
import type { Answer } from './operation.ts'

/** The request header of every route that makes a task. */
export const idempotencyKey = z.object({
  'Idempotency-Key': z.string().min(1).max(idempotencyKeyBytesMax).optional().meta({
    description:
      'Makes a retry safe: the same key with the same request is the same task, and is paid for once. At most 255 bytes. With a different request the answer is 409.',
    example: 'order-1842-image-1',
  }),
})

/** The operations that take a task id. `taskId` is the expression that finds it in an answer. */
export function linksToTask(taskId: string): NonNullable<Answer['links']> {
  const parameters = { task_id: taskId }
  return {
    getTask: { parameters },
    getTaskByOtherPath: { parameters },
    getTaskResult: { parameters },
    getTaskResultByOtherPath: { parameters },
    cancelTask: { parameters },
  }
}
