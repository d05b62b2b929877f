import type { CancelReason, SettleDeps, SettleInput } from '../tasks/ends.ts'
import { cancelTask, failTask, settleTask } from '../tasks/ends.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { LostCall } from './beatStore.ts'
import type { AttemptClose } from './closeAttempt.ts'
import { closeAttempt, loseAttempt } from './closeAttempt.ts'
import { extendLease } from './extendLease.ts'
import type { OpenInput } from './openAttempt.ts'
import { openAttempt } from './openAttempt.ts'
import type { FactsDeps } from './readTaskFacts.ts'
import { readTaskFacts } from './readTaskFacts.ts'

/** What a process reads and writes while it carries out tasks. Each transition of a task is one statement. */
export type AttemptStore = ReturnType<typeof createAttemptStore>

export function createAttemptStore(deps: SettleDeps & FactsDeps) {
  const { pool } = deps
  return {
    readTaskFacts: (taskId: string) => readTaskFacts(deps, taskId),
    openAttempt: (input: OpenInput) => openAttempt(pool, input),
    closeAttempt: (close: AttemptClose) => closeAttempt(pool, close),
    loseAttempt: (call: LostCall & { readonly judge: string }) => loseAttempt(pool, call),
    extendLease: (taskId: string, n: number) => extendLease(pool, taskId, n),
    settleTask: (input: SettleInput) => settleTask(deps, input),
    failTask: (taskId: string, failure: TaskFailure, attempts: number) =>
      failTask(deps, taskId, failure, attempts),
    cancelTask: (taskId: string, reason: CancelReason) => cancelTask(deps, taskId, reason),
  }
}
