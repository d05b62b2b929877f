import type { TaskFailure } from '../domain/failure.ts'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { readAnswerMeta } from './storedAnswer.ts'

type SettleOrFailDeps = {
  readonly attempts: Pick<AttemptStore, 'answerIdsOf' | 'settleTask' | 'failTask'>
  readonly blobs: BlobStore
}

/** Publishes and charges the newest stored answer of a task; false when there is none, or it had ended. */
export function createSettleStored(
  deps: Omit<SettleOrFailDeps, 'attempts'> & {
    readonly attempts: Pick<AttemptStore, 'answerIdsOf' | 'settleTask'>
  },
) {
  return async (taskId: string): Promise<boolean> => {
    for (const answerId of await deps.attempts.answerIdsOf(taskId)) {
      const meta = await readAnswerMeta(deps.blobs, answerId)
      if (meta !== undefined && (await deps.attempts.settleTask({ meta, answerId }))) return true
    }
    return false
  }
}

/**
 * The end of a task whose work is over: a stored answer is settled, whoever stored it; only without one
 * the task fails and its hold is released (design 1.10). `over`: it had ended before.
 */
export function createSettleOrFail(deps: SettleOrFailDeps) {
  const settleStored = createSettleStored(deps)
  return async (taskId: string, failure: TaskFailure): Promise<'succeeded' | 'failed' | 'over'> => {
    if (await settleStored(taskId)) return 'succeeded'
    return (await deps.attempts.failTask(taskId, failure)) ? 'failed' : 'over'
  }
}
