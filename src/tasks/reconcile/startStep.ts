import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { StartTask } from '../../domain/ports/taskRuns.ts'
import { inParallel } from './inParallel.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 200
const parallel = 16

/**
 * Creates the step that starts the workflows of accepted tasks that have none. A task has no workflow when
 * Temporal was slow or unreachable, when the API process died after its answer, or when an offer was lost.
 *
 * After the first failure the step tries no other task until its next execution. So an unreachable Temporal
 * costs a few calls per second instead of thousands.
 */
export function createStartStep(deps: {
  readonly store: Pick<ReconcileStore, 'unstartedTasks' | 'markStarted' | 'postponeChecks'>
  readonly startTask: StartTask
}): ReconcileStep {
  return {
    name: 'start',
    everyMs: 1_000,
    run: async (signal, report) => {
      let startedAll: boolean
      do {
        const started: string[] = []
        const failed: string[] = []
        const due = await deps.store.unstartedTasks(batchMax)
        await inParallel(due, { parallel, signal }, async (start) => {
          if (failed.length > 0) return
          const result = await deps.startTask(start)
          const list = result.kind === 'failed' ? failed : started
          list.push(start.taskId)
        })
        await deps.store.markStarted(started)
        await deps.store.postponeChecks(failed, 'not_started')
        if (started.length > 0) report({ found: 'started', count: started.length })
        if (failed.length > 0) report({ found: 'start_failed', count: failed.length })
        startedAll = started.length === batchMax
        // After an outage of Temporal very many tasks are due, so a full batch is followed by the next at once.
      } while (startedAll && !signal.aborted)
    },
  }
}
