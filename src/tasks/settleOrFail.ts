import type { TaskFailure } from '../domain/failure.ts'
import type { AttemptStore, FailResult } from '../domain/ports/attemptStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { readAnswerMeta } from './storedAnswer.ts'

type SettleDeps<Method extends keyof AttemptStore> = {
  readonly attempts: Pick<AttemptStore, Method>
  readonly blobs: BlobStore
}

/**
 * Creates the function that ends a task when no more upstream calls will be made for it. If an answer is
 * stored, the function settles the task, even if the worker that stored the answer is lost. Otherwise it
 * fails the task and releases the hold. While a call of a present worker is under way, it changes nothing,
 * and the caller must ask again later. Returns `over` when the task had already ended. Throws
 * `AnswerUnknownError` when the blob store cannot be read.
 */
export function createSettleOrFail(deps: SettleDeps<'answerIdsOf' | 'settleTask' | 'failTask'>) {
  const settleStored = createSettleStored(deps)
  return async (taskId: string, failure: TaskFailure): Promise<FailResult> => {
    if (await settleStored(taskId)) return 'succeeded'
    return deps.attempts.failTask(taskId, failure)
  }
}

/**
 * Creates the function that settles the newest stored answer of a task. The function returns false when no
 * answer is stored or the task has ended.
 */
export function createSettleStored(deps: SettleDeps<'answerIdsOf' | 'settleTask'>) {
  return async (taskId: string): Promise<boolean> => {
    for (const answerId of await deps.attempts.answerIdsOf(taskId)) {
      if (await settleAnswer(deps, answerId)) return true
    }
    return false
  }
}

/** Settles the task of an answer. Returns false when the answer is not stored or its task has ended already. */
export async function settleAnswer(
  deps: SettleDeps<'settleTask'>,
  answerId: string,
): Promise<boolean> {
  const meta = await readAnswerMeta(deps.blobs, answerId)
  return meta !== undefined && (await deps.attempts.settleTask({ meta, answerId }))
}
