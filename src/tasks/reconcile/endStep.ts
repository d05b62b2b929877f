import type { TaskFailure } from '../../domain/failure.ts'
import { storePatienceMs } from '../../domain/limits.ts'
import type { AttemptStore } from '../../domain/ports/attemptStore.ts'
import type { PastEndTask, ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { ProduceResult } from '../produceImage.ts'
import { AnswerUnknownError } from '../storedAnswer.ts'
import type { ReconcileStep } from './reconciler.ts'
import { inParallel } from './reconciler.ts'

const batchMax = 50
const parallel = 8
const backoff = { firstMs: 2_000, mostMs: 60_000 } as const

type EndDeps = {
  readonly store: Pick<ReconcileStore, 'pastEndTasks' | 'postponeChecks'>
  readonly produceImage: (input: { readonly taskId: string }) => Promise<ProduceResult>
  readonly failTask: AttemptStore['failTask']
  readonly onError: (taskId: string, error: unknown) => void
}

/** Of a task that nobody is waited for any more, without what gate and store would say of it. */
const hardEnd: TaskFailure = {
  code: 'generation_timeout',
  cause: 'deadline',
  workPossible: true,
}

/**
 * Ends tasks whose time is over: Temporal may be gone. Past the deadline the gate opens no call, so
 * `produceImage` only settles a stored answer or says which end it is (design 1.10). A blob store that
 * fails is waited for until some minutes past the hard end; from there on PostgreSQL alone ends the task,
 * lest a hold outlive its task's promise for as long as a store is away.
 */
export function createEndStep(deps: EndDeps): ReconcileStep {
  return {
    name: 'end',
    everyMs: 1_000,
    run: async (signal, tell) => {
      let ended = 0
      let due: readonly PastEndTask[]
      do {
        ended = 0
        due = await deps.store.pastEndTasks(batchMax, storePatienceMs)
        await inParallel(due, { parallel, signal }, async (task) => {
          const found = await endOne(deps, task)
          if (found === undefined) return
          ended += 1
          tell({ found, count: 1, taskId: task.taskId })
        })
        // A batch of which none could be ended would come again: it has its pause.
      } while (due.length === batchMax && ended > 0 && !signal.aborted)
    },
  }
}

async function endOne(deps: EndDeps, task: PastEndTask): Promise<'settled' | 'failed' | undefined> {
  const { taskId } = task
  try {
    const result = await settleOrEnd(deps, task)
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

async function settleOrEnd(
  deps: EndDeps,
  { taskId, graceOver }: PastEndTask,
): Promise<ProduceResult> {
  try {
    return await deps.produceImage({ taskId })
  } catch (error) {
    if (graceOver && error instanceof AnswerUnknownError) {
      return { kind: 'end', failure: hardEnd }
    }
    throw error
  }
}
