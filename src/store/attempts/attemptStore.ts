import type { EndedRow } from '../tasks/afterEnd.ts'
import type { CancelReason, End, EndDeps, SettleInput } from '../tasks/ends.ts'
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

export function createAttemptStore(
  deps: EndDeps &
    FactsDeps & {
      /** Called with every task that this process has ended, after the commit. Never throws and never waits. */
      readonly onEnd: (ended: EndedRow) => void
    },
) {
  const { pool } = deps
  const announced = async <Result>(end: Promise<End<Result>>): Promise<Result> => {
    const { result, ended } = await end
    if (ended !== undefined) deps.onEnd(ended)
    return result
  }
  return {
    readTaskFacts: (taskId: string) => readTaskFacts(deps, taskId),
    openAttempt: (input: OpenInput) => openAttempt(pool, input),
    closeAttempt: (close: AttemptClose) => closeAttempt(pool, close),
    loseAttempt: (call: LostCall & { readonly witness: string }) => loseAttempt(pool, call),
    extendLease: (taskId: string, n: number) => extendLease(pool, taskId, n),
    settleTask: (input: SettleInput) => announced(settleTask(deps, input)),
    failTask: (taskId: string, failure: TaskFailure, attempts: number) =>
      announced(failTask(deps, taskId, failure, attempts)),
    cancelTask: (taskId: string, reason: CancelReason) =>
      announced(cancelTask(deps, taskId, reason)),
  }
}
