import type { Pool } from 'pg'
import { assertNever } from '../../domain/assertNever.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { AttemptStore } from '../../store/attempts/attemptStore.ts'
import type { DueTask } from '../../store/tasks/dueTasks.ts'
import { claimToCheck } from '../../store/tasks/dueTasks.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { RunReport } from '../../temporal/runs.ts'
import type { StartTask } from '../../temporal/startTask.ts'
import { inParallel } from '../inParallel.ts'
import type { DirectRuns } from '../produce/directRuns.ts'
import type { ProduceImage } from '../produce/produceImage.ts'
import { AnswerUnknownError } from '../produce/storedAnswer.ts'
import type { Finding, ReconcileStep, ReportFinding } from './reconciler.ts'

export type CheckDeps = {
  readonly pool: Pool
  readonly log: Pick<Logger, 'error'>
  readonly reportRun: (taskId: string) => Promise<RunReport>
  readonly startTask: StartTask
  readonly produceImage: ProduceImage
  readonly attempts: Pick<AttemptStore, 'cancelTask' | 'failTask'>
  readonly direct: Pick<DirectRuns, 'take'>
}

const batchMax = 100
const parallel = 8

/**
 * Creates the step that looks after live tasks that no worker has updated for long: it asks Temporal about their runs,
 * repairs what is broken, and ends tasks that are past their end. A task that it leaves as it is is checked again:
 * the claim has planned that. While Temporal is away, this worker carries out tasks as far as it has free slots.
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
        claimed = await claimToCheck(deps.pool, batchMax)
        await inParallel(claimed, { parallel, signal }, async (task) => {
          const { taskId } = task.start
          try {
            if (away && !task.pastEnd) return runHere(deps, task, report)
            const found = task.pastEnd ? await end(deps, task) : await check(deps, task)
            if (found === 'unreachable') {
              away = true
              runHere(deps, task, report)
            }
            if (found !== undefined) report({ found, count: 1, taskId })
          } catch (error) {
            deps.log.error('task not checked', { taskId, error })
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
    case 'ended':
      return end(deps, task)
    case 'stopped': {
      const result = await deps.attempts.cancelTask(task.start.taskId, 'asked')
      return result === 'cancelled' ? result : end(deps, task)
    }
    default:
      return assertNever(run)
  }
}

/** Carries out a task whose run cannot continue. What its run does later finds the task as it is then. */
function runHere({ direct }: CheckDeps, task: DueTask, report: ReportFinding): void {
  const { start, started, callOpen } = task
  if (!started || callOpen || !direct.take(start)) return
  report({ found: 'taken_over', count: 1, taskId: start.taskId })
}

/**
 * Starts the workflow again when Temporal has no run of an accepted task, for example because Temporal's data
 * is lost. While a call of the task is under way, waits for the call.
 */
async function startAgain(deps: CheckDeps, { start, callOpen }: DueTask): Promise<Found> {
  if (callOpen) return undefined
  return (await deps.startTask(start)) ? 'restarted' : undefined
}

/** The failure of a task that must end while the blob store cannot say whether an answer is stored. */
const storeUnreadable: TaskFailure = {
  code: 'generation_timeout',
  cause: 'deadline',
  workPossible: true,
}

/**
 * Ends a task that is past its end, or whose run an operator stopped or could not record the end: `produceImage` settles a
 * stored answer or fails the task, and leaves a call under way, which is paid for. When the blob store cannot be read,
 * the step looks again until some minutes after the hard end. Then it fails the task with PostgreSQL alone, so that an
 * outage of the blob store does not keep the hold for ever.
 */
async function end(deps: CheckDeps, task: DueTask): Promise<Found> {
  const { taskId } = task.start
  try {
    const { kind } = await deps.produceImage({ taskId, giveUp: true })
    if (kind === 'succeeded') return 'settled'
    return kind === 'failed' ? kind : undefined
  } catch (error) {
    if (!task.graceOver || !(error instanceof AnswerUnknownError)) throw error
    const result = await deps.attempts.failTask(taskId, storeUnreadable, task.attempts)
    return result === 'failed' ? result : undefined
  }
}
