import type { Pool } from 'pg'
import type { TaskStart } from '../../domain/tasks/taskStart.ts'
import { markStarted } from '../../store/tasks/dueTasks.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Recorders } from '../../telemetry/metrics.ts'
import type { StartTask } from '../../temporal/startTask.ts'

export type StartRuns = ReturnType<typeof createStartRuns>

/** Limits for the starts under way in this process: of all accounts together, and of one account. */
const startsMax = 32
const startsOfAccountMax = 16
/** Shorter than the time after which the reconciler starts what is not marked (`next_check_at` of a new row). */
const markAfterMs = 1_000

/**
 * Creates the part of an API process that starts workflows. The task's row is its own outbox: what is not started
 * here is started by the reconciler, a second or two later.
 */
export function createStartRuns(deps: {
  readonly pool: Pool
  readonly log: Logger
  readonly metrics: Recorders
  readonly startTask: StartTask
}) {
  const { pool, log, metrics, startTask } = deps
  const running = new Map<Promise<void>, string>()
  const unmarked: string[] = []
  let markTimer: NodeJS.Timeout | undefined

  function leave(taskId: string, reason: 'full' | 'failed'): void {
    metrics.startLeft(reason)
    log.info('start left to the reconciler', { taskId, reason })
  }

  async function startNow(start: TaskStart): Promise<void> {
    const { taskId } = start
    if (!(await startTask(start))) return leave(taskId, 'failed')
    unmarked.push(taskId)
    markTimer ??= setTimeout(() => void mark(), markAfterMs)
  }

  /** Marks what has started lately, all at once. By then most calls have begun, and need no mark any more. */
  async function mark(): Promise<void> {
    clearTimeout(markTimer)
    markTimer = undefined
    const taskIds = unmarked.splice(0)
    if (taskIds.length === 0) return
    await markStarted(pool, taskIds).catch((error: unknown) =>
      log.warn('starts not marked', { count: taskIds.length, error }),
    )
  }

  return {
    /** Starts the workflow of an accepted task, unless too many starts are under way. Never throws and never waits. */
    start: (start: TaskStart): void => {
      const ofAccount = [...running.values()].filter((account) => account === start.accountId)
      if (running.size >= startsMax || ofAccount.length >= startsOfAccountMax) {
        return leave(start.taskId, 'full')
      }
      const one = startNow(start)
        .catch((error: unknown) =>
          log.error('start failed unexpectedly', { taskId: start.taskId, error }),
        )
        .finally(() => running.delete(one))
      running.set(one, start.accountId)
    },
    /** Returns the number of starts under way. */
    underWay: () => running.size,
    /** Resolves when no start is under way, and all are marked. */
    idle: async () => {
      await Promise.all(running.keys())
      await mark()
    },
  }
}
