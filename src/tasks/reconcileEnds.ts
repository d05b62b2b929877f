import type { AttemptStore } from '../domain/attemptStore.ts'
import type { ReconcileStore } from '../domain/reconcileStore.ts'
import { inParallel } from './inParallel.ts'
import type { ProduceResult } from './produceResult.ts'
import type { ReconcileStep } from './reconcileStep.ts'

const batchMax = 50
const parallel = 4
const backoff = { firstMs: 2_000, mostMs: 60_000 } as const

export type EndDeps = {
  readonly store: Pick<ReconcileStore, 'pastEndTasks' | 'postponeChecks'>
  readonly produceImage: (input: { readonly taskId: string }) => Promise<ProduceResult>
  readonly failTask: AttemptStore['failTask']
  readonly onError: (taskId: string, error: unknown) => void
}

/**
 * Ends tasks whose time is over, with PostgreSQL and the blob store alone: Temporal may be gone. Past the
 * deadline the gate opens no call, so `produceImage` only settles a stored answer or says which end it
 * is (design 1.10).
 */
export function createEndStep(deps: EndDeps): ReconcileStep {
  return {
    name: 'end',
    everyMs: 1_000,
    run: async (signal, tell) => {
      let ended = 0
      let due: readonly string[]
      do {
        ended = 0
        due = await deps.store.pastEndTasks(batchMax)
        await inParallel(due, { parallel, signal }, async (taskId) => {
          const found = await endOne(deps, taskId)
          if (found === undefined) return
          ended += 1
          tell({ found, count: 1, taskId })
        })
        // A batch of which none could be ended would come again: it has its pause.
      } while (due.length === batchMax && ended > 0 && !signal.aborted)
    },
  }
}

async function endOne(deps: EndDeps, taskId: string): Promise<'settled' | 'failed' | undefined> {
  try {
    const result = await deps.produceImage({ taskId })
    if (result.kind === 'succeeded') return 'settled'
    if (result.kind !== 'end') return undefined
    return (await deps.failTask(taskId, result.failure)) ? 'failed' : undefined
  } catch (error) {
    // One that cannot be ended now must not stand before the others.
    deps.onError(taskId, error)
    await deps.store.postponeChecks([taskId], backoff)
    return undefined
  }
}
