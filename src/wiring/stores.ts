import type { Pool } from 'pg'
import type { AttemptStore } from '../domain/ports/attemptStore.ts'
import type { ChannelAdmin } from '../domain/ports/channelAdmin.ts'
import type { BeginAttemptDeps } from '../store/attempts/beginAttempt.ts'
import { beginAttempt } from '../store/attempts/beginAttempt.ts'
import { abandonAttempt, closeAttempt } from '../store/attempts/closeAttempt.ts'
import { createBeginFirstCall } from '../store/attempts/beginFirstCall.ts'
import { createQueuedLooks } from '../store/attempts/queuedLooks.ts'
import { answerIdsOf, createSettleTask } from '../store/attempts/settleTask.ts'
import { listChannels, pauseChannel, resumeChannel } from '../store/channels/channelAdmin.ts'
import type { Lifetimes } from '../store/tasks/lifetimes.ts'
import type { AnnounceEnd } from '../store/tasks/announceEnd.ts'
import { cancelTask } from '../store/tasks/cancelTask.ts'
import { createFailTask } from '../store/tasks/failTask.ts'

/** For the worker and the reconciler: the gate, the ends of attempts, and the ends of tasks. */
export function createAttemptStore(
  deps: BeginAttemptDeps & Lifetimes & { readonly announceEnd: AnnounceEnd },
): AttemptStore {
  const looks = createQueuedLooks(deps)
  const gate = { ...deps, ...looks, beginFirstCall: createBeginFirstCall(deps) }
  return {
    beginAttempt: (input) => beginAttempt(gate, input),
    endOfFirstCall: looks.endOfFirstCall,
    settleTask: createSettleTask(deps),
    failTask: createFailTask(deps),
    closeAttempt: (close) => closeAttempt(deps, close),
    abandonAttempt: (attempt) => abandonAttempt(deps, attempt),
    cancelTask: (taskId, reason) => cancelTask(deps, taskId, reason),
    answerIdsOf: (taskId) => answerIdsOf(deps.pool, taskId),
  }
}

/** For the operator's commands that list, pause and resume channels. */
export function createChannelAdmin(pool: Pool): ChannelAdmin {
  return {
    listChannels: () => listChannels(pool),
    pauseChannel: (name, reason) => pauseChannel(pool, name, reason),
    resumeChannel: (name) => resumeChannel(pool, name),
  }
}
