import type { AttemptStore } from '../domain/attemptStore.ts'
import { createAnswersOf } from './answersOf.ts'
import type { BeginAttemptDeps } from './beginAttempt.ts'
import { createBeginAttempt } from './beginAttempt.ts'
import { createCancelTask } from './cancelTask.ts'
import { createCloseAttempt } from './closeAttempt.ts'
import type { Lifetimes } from './endTask.ts'
import { createFailTask } from './failTask.ts'
import { createSettleTask } from './settleTask.ts'
import { createTouchAttempts } from './touchAttempts.ts'

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
