import type { RequestFailure } from '../failure.ts'
import { defined } from '../defined.ts'
import type { BudgetState } from './budget.ts'
import type { LimitsState } from './accountLimits.ts'
import { requestsRemaining } from './accountLimits.ts'

/** What an account has for one more task. `budget` is that of the key with which it asks. Absent: no limit, no budget. */
export type Means = LimitsState & {
  /** Credits that are neither held nor spent. */
  readonly available: number
  readonly budget?: BudgetState
}

/**
 * Returns why the means do not suffice for a task of this price, in the order of `insertTask`, or `undefined`. The means
 * may have changed since they were read, so only `insertTask` can say that they suffice.
 */
export function refusalByMeans(
  { requests, liveTasks, available, budget }: Means,
  requiredCredits: number,
): RequestFailure | undefined {
  if (requests !== undefined && requestsRemaining(requests) === 0) {
    return { tag: 'too_many_requests', requests }
  }
  if (liveTasks !== undefined && liveTasks.used >= liveTasks.limit) {
    const liveTasksLimit = liveTasks.limit
    return { tag: 'too_many_live_tasks', liveTasksLimit, ...defined({ requests }) }
  }
  if (available < requiredCredits) return { tag: 'insufficient_quota', requiredCredits }
  if (
    requiredCredits > 0 &&
    budget !== undefined &&
    budget.used + requiredCredits > budget.credits
  ) {
    return { tag: 'over_budget', requiredCredits, budget }
  }
  return undefined
}
