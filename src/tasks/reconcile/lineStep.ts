import type { Pool } from 'pg'
import { claimForLine, makeDue } from '../../store/tasks/dueTasks.ts'
import type { Beats } from '../produce/beats.ts'
import type { DirectRuns } from '../produce/directRuns.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 100

/**
 * Creates the step that lets synchronous tasks stand in line here that nobody has taken, or whose worker is lost. Nothing
 * says in whose line a task stands, so the step claims those of living workers too, and they stand in both lines.
 */
export function createLineStep({
  pool,
  beats,
  direct,
}: {
  readonly pool: Pool
  readonly beats: Pick<Beats, 'mayCall'>
  readonly direct: Pick<DirectRuns, 'room' | 'take'>
}): ReconcileStep {
  return {
    name: 'line',
    everyMs: 1_000,
    run: async (signal) => {
      for (;;) {
        const limit = Math.min(batchMax, direct.room())
        if (limit <= 0 || !beats.mayCall() || signal.aborted) return
        const claimed = await claimForLine(pool, limit)
        // A worker that has just begun to stop takes no task.
        for (const task of claimed) if (!direct.take(task)) await makeDue(pool, task.taskId)
        if (claimed.length < limit) return
      }
    },
  }
}
