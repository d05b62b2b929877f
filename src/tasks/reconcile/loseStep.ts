import type { LostCall } from '../../store/attempts/beats.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 100

/**
 * Creates the step that closes lost calls, so that the next worker may call for their tasks: calls of processes that
 * send no beats any more, and calls whose lease is over.
 */
export function createLoseStep(deps: {
  readonly lostCalls: (limit: number) => Promise<readonly LostCall[]>
  /** Returns false when the call is not lost after all. */
  readonly loseCall: (call: LostCall) => Promise<boolean>
}): ReconcileStep {
  return {
    name: 'lose',
    everyMs: 1_000,
    run: async (signal, report) => {
      for (const call of await deps.lostCalls(batchMax)) {
        if (signal.aborted) return
        if (await deps.loseCall(call)) report({ found: 'lost', count: 1, taskId: call.taskId })
      }
    },
  }
}
