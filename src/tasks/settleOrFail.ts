import type { TaskFailure } from '../domain/failure.ts'
import type { AttemptStore, FailResult } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { readAnswerMeta } from './storedAnswer.ts'

type SettleDeps<Method extends keyof AttemptStore> = {
  readonly attempts: Pick<AttemptStore, Method>
  readonly blobs: BlobStore
}

/**
 * Ends a task for which no call is made any more. A stored answer is settled, even if its worker is lost;
 * without one the task fails and its hold is released. While a call of a present worker is under way,
 * nothing changes: ask again later. Throws `AnswerUnknownError` when the blob store cannot be read.
 */
export function createSettleOrFail(deps: SettleDeps<'answerIdsOf' | 'settleTask' | 'failTask'>) {
  const settleStored = createSettleStored(deps)
  return async (taskId: string, failure: TaskFailure): Promise<FailResult> => {
    if (await settleStored(taskId)) return 'succeeded'
    return deps.attempts.failTask(taskId, failure)
  }
}

/** Settles the newest stored answer of a task. False: there is none, or the task has ended. */
export function createSettleStored(deps: SettleDeps<'answerIdsOf' | 'settleTask'>) {
  return async (taskId: string): Promise<boolean> => {
    for (const answerId of await deps.attempts.answerIdsOf(taskId)) {
      if (await settleAnswer(deps, answerId)) return true
    }
    return false
  }
}

/** Settles this answer. False: it was not stored, or its task has ended. */
export async function settleAnswer(
  deps: SettleDeps<'settleTask'>,
  answerId: string,
): Promise<boolean> {
  const meta = await readAnswerMeta(deps.blobs, answerId)
  return meta !== undefined && (await deps.attempts.settleTask({ meta, answerId }))
}
