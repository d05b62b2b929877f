import type { ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { StartTask } from '../../domain/ports/taskRuns.ts'
import type { ReconcileStep } from './reconciler.ts'
import { inParallel } from './reconciler.ts'

const batchMax = 200
const parallel = 16
const backoff = { firstMs: 2_000, mostMs: 30_000 } as const

/**
 * Starts the workflows of tasks that were accepted and not started: Temporal was slow or away, or the
 * process died behind its answer (design 1.2). After a failure no more are tried in this run, so that a
 * Temporal that is away costs some calls a second and not ten thousand.
 */
export function createStartStep(deps: {
  readonly store: Pick<ReconcileStore, 'unstartedTasks' | 'markStarted' | 'postponeChecks'>
  readonly startTask: StartTask
}): ReconcileStep {
  return {
    name: 'start',
    everyMs: 1_000,
    run: async (signal, tell) => {
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
      await deps.store.postponeChecks(failed, backoff)
      if (started.length > 0) tell({ found: 'started', count: started.length })
      if (failed.length > 0) tell({ found: 'start_failed', count: failed.length })
    },
  }
}
