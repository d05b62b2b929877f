import type { Pool } from 'pg'
import type { AttemptStore } from '../../store/attempts/attemptStore.ts'
import { lostCalls } from '../../store/attempts/beatStore.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 100

/**
 * Creates the step that closes lost calls, so that the next worker may call for their tasks: calls of processes that
 * send no beats any more, and calls whose lease is over.
 */
export function createLoseStep(deps: {
  readonly pool: Pool
  readonly attempts: AttemptStore
  readonly processId: string
}): ReconcileStep {
  const { pool, attempts, processId: witness } = deps
  return {
    name: 'lose',
    everyMs: 1_000,
    run: async (signal, report) => {
      for (const call of await lostCalls(pool, witness, batchMax)) {
        if (signal.aborted) return
        const isLost = await attempts.loseAttempt({ ...call, witness })
        if (isLost) report({ found: 'lost', count: 1, taskId: call.taskId })
      }
    },
  }
}
