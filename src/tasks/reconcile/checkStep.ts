import { assertNever } from '../../domain/assertNever.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { AttemptStore } from '../../store/attempts/attemptStore.ts'
import type { DueTask } from '../../store/reconcile/claims.ts'
import type { ReconcileStore } from '../../store/reconcile/reconcileStore.ts'
import type { FailResult } from '../../store/tasks/ends.ts'
import type { RunReport } from '../../temporal/runs.ts'
import type { StartTask } from '../../temporal/startTask.ts'
import type { createProduceImage } from '../produceImage.ts'
import { AnswerUnknownError } from '../storedAnswer.ts'
import type { Finding, ReconcileStep } from './reconciler.ts'
import { inParallel } from './reconciler.ts'

export type CheckDeps = {
  readonly store: Pick<ReconcileStore, 'claimToCheck'>
  readonly reportRun: (taskId: string) => Promise<RunReport>
  readonly startTask: StartTask
  readonly settleOrFail: (taskId: string, failure: TaskFailure) => Promise<FailResult>
  readonly produceImage: ReturnType<typeof createProduceImage>
  readonly attempts: Pick<AttemptStore, 'cancelTask' | 'failTask'>
  /** Called when the check of one task fails, for example because the blob store is unreachable. */
  readonly onError: (taskId: string, error: unknown) => void
}

const batchMax = 100
const parallel = 8

/**
 * Creates the step that looks after live tasks that no worker has updated for long: it asks Temporal about their runs,
 * repairs what is broken, and ends tasks that are past their end. A task that it leaves as it is is checked again:
 * the claim has planned that.
 */
export function createCheckStep(deps: CheckDeps): ReconcileStep {
  return {
    name: 'check',
    everyMs: 1_000,
    run: async (signal, report) => {
      let claimed: readonly DueTask[]
      // Each question to a Temporal that is away lasts until its limit. Tasks past their end do not wait for those.
      let away = false
      do {
        claimed = await deps.store.claimToCheck(batchMax)
        await inParallel(claimed, { parallel, signal }, async (task) => {
          const { taskId } = task.start
          try {
            if (away && !task.pastEnd) return
            const found = task.pastEnd ? await end(deps, task) : await check(deps, task)
            if (found === 'unreachable') away = true
            if (found !== undefined) report({ found, count: 1, taskId })
          } catch (error) {
            deps.onError(taskId, error)
          }
        })
      } while (claimed.length === batchMax && !signal.aborted)
    },
  }
}

/** What was done about a task. `undefined`: nothing. */
type Found = Finding['found'] | undefined

async function check(deps: CheckDeps, task: DueTask): Promise<Found> {
  if (!task.started) return undefined
  const run = await deps.reportRun(task.start.taskId)
  switch (run) {
    case 'running':
      return undefined
    case 'unreachable':
      return 'unreachable'
    case 'missing':
      return startAgain(deps, task)
    case 'completed':
    case 'failed':
      return endWithoutRun(deps, task, { stopped: false })
    case 'cancelled':
    case 'terminated':
      return endWithoutRun(deps, task, { stopped: true })
    default:
      return assertNever(run)
  }
}

/**
 * Starts the workflow again when Temporal has no run of an accepted task, for example because Temporal's data
 * is lost. While a call of the task is under way, waits for the call.
 */
async function startAgain(deps: CheckDeps, { start, callOpen }: DueTask): Promise<Found> {
  if (callOpen) return undefined
  const { kind } = await deps.startTask(start)
  return kind === 'failed' ? undefined : 'restarted'
}

/**
 * The failure of a task whose run ended without recording an end. `failTask` sets `workPossible` to true if a
 * call may have done work.
 */
const lostRun: TaskFailure = { code: 'upstream_error', cause: 'unknown', workPossible: false }

/**
 * Ends a live task whose run has ended. Either an operator stopped the run, or the run could not record the
 * task's end.
 *
 * If an answer is stored, it is settled. If a call is under way, the reconciler waits for it, because the
 * call is paid for. Otherwise the task ends without an image: as cancelled when an operator stopped the run and
 * no call may have done work, and as failed in every other case.
 */
async function endWithoutRun(
  deps: CheckDeps,
  { start: { taskId } }: DueTask,
  run: { readonly stopped: boolean },
): Promise<Found> {
  if (run.stopped && (await deps.attempts.cancelTask(taskId, 'asked')) === 'cancelled') {
    return 'cancelled'
  }
  const result = await deps.settleOrFail(taskId, lostRun)
  if (result === 'succeeded') return 'settled'
  return result === 'failed' ? result : undefined
}

/** The failure of a task that must end while the blob store cannot say whether an answer is stored. */
const storeUnreadable: TaskFailure = {
  code: 'generation_timeout',
  cause: 'deadline',
  workPossible: true,
}

/**
 * Ends a task past its end, without Temporal. No call may begin any more, so `produceImage` only settles a stored
 * answer or fails the task. When the blob store cannot be read, the step looks again until some minutes
 * after the hard end. Then it fails the task with PostgreSQL alone, so that an outage of the blob store does not keep
 * the hold for ever.
 */
async function end(deps: CheckDeps, task: DueTask): Promise<Found> {
  const { taskId } = task.start
  try {
    const { kind } = await deps.produceImage({ taskId })
    if (kind === 'succeeded') return 'settled'
    return kind === 'failed' ? kind : undefined
  } catch (error) {
    if (!task.graceOver || !(error instanceof AnswerUnknownError)) throw error
    const result = await deps.attempts.failTask(taskId, storeUnreadable, task.attempts)
    return result === 'failed' ? result : undefined
  }
}
