import { proxyActivities } from '@temporalio/workflow'
import type { Activities } from '../activities/createActivities.ts'
import type { ImageTaskInput } from './contract.ts'
import { heartbeatTimeoutMs, produceTaskQueue } from './contract.ts'

export type ImageTaskActivities = Activities

/** Retried without end, for crashes and outages: the task's deadline is kept in PostgreSQL (design 1.1). */
const retry = { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' } as const

/** One statement or two in PostgreSQL. */
const recordTimeout = '30 s'

/** The activities of one task, each with every limit explicit. */
export function activitiesFor(input: ImageTaskInput): ImageTaskActivities {
  const { produceImage } = proxyActivities<Activities>({
    taskQueue: produceTaskQueue(input.family),
    startToCloseTimeout: input.produceTimeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: input.model,
  })
  // On the workflow's own queue: a family whose slots are all taken can still be cancelled.
  const { recordFailure, cancelTask } = proxyActivities<Activities>({
    startToCloseTimeout: recordTimeout,
    retry,
  })
  return { produceImage, recordFailure, cancelTask }
}
