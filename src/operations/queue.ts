import type { Channel } from '../domain/upstream/channel.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { queue } from '../schema/operators/overview.ts'
import { readQueue } from '../store/operator/readQueue.ts'
import type { OperationDeps } from './operation.ts'

export type QueueJson = AnswerOf<typeof queue>

export type QueueDeps = Pick<OperationDeps, 'pool'> & {
  /** Returns the channels of the operator's file. */
  readonly channels: () => readonly Channel[]
}

/** Shows who waits, since when and for what. */
export async function showQueue(deps: QueueDeps): Promise<QueueJson> {
  return { object: 'queue', ...(await readQueue(deps.pool, deps.channels())) }
}
