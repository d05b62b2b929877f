import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import { createAnswersOf, createSettleTask } from './attempts/settleTask.ts'
import type { BeginAttemptDeps } from './attempts/beginAttempt.ts'
import { createBeginAttempt } from './attempts/beginAttempt.ts'
import { createCancelTask, createFailTask } from './tasks/endTask.ts'
import { createCloseAttempt } from './attempts/closeAttempt.ts'
import type { Lifetimes } from './tasks/endTask.ts'
import { createTouchAttempts } from './attempts/presence.ts'

/** The transactions of execution over one pool. Lifetimes in seconds (design, lifetimes). */
export function createAttemptStore(deps: BeginAttemptDeps & Lifetimes): AttemptStore {
  const { pool, retentionSeconds, tombstoneSeconds } = deps
  const lifetimes = { retentionSeconds, tombstoneSeconds }
  return {
    beginAttempt: createBeginAttempt(deps),
    touchAttempts: createTouchAttempts({ pool }),
    closeAttempt: createCloseAttempt(deps),
    answersOf: createAnswersOf({ pool }),
    settleTask: createSettleTask(deps),
    failTask: createFailTask({ pool, lifetimes }),
    cancelTask: createCancelTask({ pool, lifetimes }),
  }
}
