import type { TaskFailure } from '../domain/failure.ts'
import { possibleAnswers } from '../domain/gate/taskFacts.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { AttemptStore } from '../store/attempts/attemptStore.ts'
import type { FailResult } from '../store/tasks/ends.ts'
import { readAnswerMeta } from './storedAnswer.ts'

export type SettleDeps<Method extends keyof AttemptStore> = {
  readonly attempts: Pick<AttemptStore, Method>
  readonly blobs: BlobStore
}

/**
 * Creates the function that ends a task when no more upstream calls will be made for it. If an answer is
 * stored, the function settles the task, even if the worker that stored the answer is lost. Otherwise it
 * fails the task and releases the hold. While a call is under way, it changes nothing,
 * and the caller must ask again later. Returns `over` when the task had already ended. Throws
 * `AnswerUnknownError` when the blob store cannot be read.
 */
export function createSettleOrFail(deps: SettleDeps<'readTaskFacts' | 'settleTask' | 'failTask'>) {
  return async (taskId: string, failure: TaskFailure): Promise<FailResult> => {
    const found = await deps.attempts.readTaskFacts(taskId)
    if (found.kind === 'over') return 'over'
    for (const answerId of possibleAnswers(found.facts)) {
      if (await settleAnswer(deps, answerId)) return 'succeeded'
    }
    return deps.attempts.failTask(taskId, failure, found.facts.attempts)
  }
}

/** Settles the task of an answer. Returns false when the answer is not stored or its task has ended otherwise. */
export async function settleAnswer(
  deps: SettleDeps<'settleTask'>,
  answerId: string,
): Promise<boolean> {
  const meta = await readAnswerMeta(deps.blobs, answerId)
  return meta !== undefined && (await deps.attempts.settleTask({ meta, answerId }))
}
