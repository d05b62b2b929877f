import type { BeatStore } from '../../store/attempts/beats.ts'
import type { ReconcileStep } from './reconciler.ts'

const batchMax = 100

/**
 * Creates the step that closes lost calls, so that the next worker may call for their tasks: calls of processes that
 * send no beats any more, and calls whose lease is over.
 */
export function createLoseStep(store: Pick<BeatStore, 'lostCalls' | 'loseCall'>): ReconcileStep {
  return {
    name: 'lose',
    everyMs: 1_000,
    run: async (signal, report) => {
      for (const call of await store.lostCalls(batchMax)) {
        if (signal.aborted) return
        if (await store.loseCall(call)) report({ found: 'lost', count: 1, taskId: call.taskId })
      }
    },
  }
}
