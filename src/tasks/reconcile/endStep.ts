import type { TaskFailure } from '../../domain/failure.ts'
import { unreadableStoreMsMax } from '../../domain/limits.ts'
import type { PastEndTask, ReconcileStore } from '../../domain/ports/reconcileStore.ts'
import type { AttemptStore } from '../../store/attempts/attemptStore.ts'
import type { PostponeOnErrorDeps } from './inParallel.ts'
import { inParallel, postponeOnError } from './inParallel.ts'
import type { ProduceResult } from '../produceImage.ts'
import type { ReconcileStep } from './reconciler.ts'
import { AnswerUnknownError } from '../storedAnswer.ts'

type EndDeps = PostponeOnErrorDeps & {
  readonly store: Pick<ReconcileStore, 'pastEndTasks' | 'postponeChecks'>
  readonly produceImage: (input: { readonly taskId: string }) => Promise<ProduceResult>
  readonly failTask: AttemptStore['failTask']
}

const batchMax = 50
const parallel = 8

/**
 * Creates the step that ends tasks past their deadline, without Temporal. Past the deadline the gate allows
 * no call, so `produceImage` only settles a stored answer or returns how the task must end.
 *
 * When the blob store cannot be read, the step tries again until some minutes after the task's hard end. Then
 * it fails the task with PostgreSQL alone, so that an outage of the blob store does not keep the hold for
 * ever.
 */
export function createEndStep(deps: EndDeps): ReconcileStep {
  return {
    name: 'end',
    everyMs: 1_000,
    run: async (signal, report) => {
      let ended = 0
      let due: readonly PastEndTask[]
      do {
        ended = 0
        due = await deps.store.pastEndTasks(batchMax, unreadableStoreMsMax)
        await inParallel(due, { parallel, signal }, (task) =>
          postponeOnError(deps, task.taskId, async () => {
            const found = await end(deps, task)
            if (found === undefined) return
            ended += 1
            report({ found, count: 1, taskId: task.taskId })
          }),
        )
        // If no task of a full batch could be ended, the step makes its usual pause before the next batch.
      } while (due.length === batchMax && ended > 0 && !signal.aborted)
    },
  }
}

/** The failure of a task that must end while the blob store cannot say whether an answer is stored. */
const storeUnreadable: TaskFailure = {
  code: 'generation_timeout',
  cause: 'deadline',
  workPossible: true,
}

async function end(
  deps: EndDeps,
  { taskId, attempts, graceOver }: PastEndTask,
): Promise<'settled' | 'failed' | undefined> {
  try {
    const { kind } = await deps.produceImage({ taskId })
    if (kind === 'succeeded') return 'settled'
    return kind === 'failed' ? kind : undefined
  } catch (error) {
    if (!graceOver || !(error instanceof AnswerUnknownError)) throw error
    const result = await deps.failTask(taskId, storeUnreadable, attempts)
    return result === 'failed' ? result : undefined
  }
}
