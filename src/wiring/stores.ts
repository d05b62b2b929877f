import type { Pool } from 'pg'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { ChannelAdmin } from '../domain/ports/channelAdmin.ts'
import type { ReconcileStore } from '../domain/ports/reconcileStore.ts'
import type { BeginAttemptDeps } from '../store/attempts/beginAttempt.ts'
import { beginAttempt } from '../store/attempts/beginAttempt.ts'
import { abandonAttempt, closeAttempt } from '../store/attempts/closeAttempt.ts'
import { createBeginFirstCall } from '../store/attempts/beginFirstCall.ts'
import { createQueuedLooks } from '../store/attempts/queuedLooks.ts'
import { answerIdsOf, createSettleTask } from '../store/attempts/settleTask.ts'
import { moveOpenSince } from '../store/channels/openSince.ts'
import { listChannels, pauseChannel, resumeChannel } from '../store/channels/channelAdmin.ts'
import { makeChecksDue, markStarted, postponeChecks } from '../store/reconcile/checkSchedule.ts'
import { purgeTasks } from '../store/reconcile/purgeTasks.ts'
import { overdueTasks, pastEndTasks, unstartedTasks } from '../store/reconcile/tasksToCheck.ts'
import {
  dropExcessInputs,
  forgetRequests,
  forgetUploads,
  takeUploads,
} from '../store/reconcile/uploads.ts'
import type { Lifetimes } from '../store/tasks/lifetimes.ts'
import type { AnnounceEnd } from '../store/tasks/announceEnd.ts'
import { cancelTask } from '../store/tasks/cancelTask.ts'
import { createFailTask } from '../store/tasks/failTask.ts'

// The functions of `src/store/` take the pool, or other dependencies, as their first argument. The ports of
// `src/domain/ports/` do not have this argument. Each function below binds it.

/** For the worker and the reconciler: the gate, the ends of attempts, and the ends of tasks. */
export function createAttemptStore(
  deps: BeginAttemptDeps & Lifetimes & { readonly announceEnd: AnnounceEnd },
): AttemptStore {
  const looks = createQueuedLooks(deps)
  const gate = { ...deps, ...looks, beginFirstCall: createBeginFirstCall(deps) }
  return {
    ...bindFirst(gate, { beginAttempt }),
    endOfFirstCall: looks.endOfFirstCall,
    settleTask: createSettleTask(deps),
    failTask: createFailTask(deps),
    ...bindFirst(deps, { closeAttempt, abandonAttempt, cancelTask }),
    ...bindFirst(deps.pool, { answerIdsOf }),
  }
}

/** For the steps of the reconciler. */
export function createReconcileStore(pool: Pool): ReconcileStore {
  return bindFirst(pool, {
    unstartedTasks,
    markStarted,
    overdueTasks,
    pastEndTasks,
    postponeChecks,
    makeChecksDue,
    moveOpenSince,
    takeUploads,
    forgetUploads,
    dropExcessInputs,
    forgetRequests,
    purgeTasks,
  })
}

/** For the operator's commands that list, pause and resume channels. */
export function createChannelAdmin(pool: Pool): ChannelAdmin {
  return bindFirst(pool, { listChannels, pauseChannel, resumeChannel })
}

/** The same functions without their first parameter. */
type WithoutFirst<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    first: never,
    ...rest: infer Rest
  ) => infer Result
    ? (...rest: Rest) => Result
    : never
}

type Functions<First> = {
  readonly [name: string]: (first: First, ...rest: never[]) => unknown
}

/** Binds the first argument of each function. */
function bindFirst<First, Given extends Functions<First>>(
  first: First,
  functions: Given,
): WithoutFirst<Given>
function bindFirst(
  first: unknown,
  functions: Readonly<Record<string, (...given: unknown[]) => unknown>>,
): object {
  return Object.fromEntries(
    Object.entries(functions).map(([name, run]) => [
      name,
      (...rest: unknown[]) => run(first, ...rest),
    ]),
  )
}
