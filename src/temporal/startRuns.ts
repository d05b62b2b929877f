import type { TaskStart } from '../domain/tasks/taskStart.ts'
import type { StartTask } from './startTask.ts'

export type StartRuns = ReturnType<typeof createStartRuns>

/** Limits for the starts under way in this process: of all accounts together, and of one account. */
const startsMax = 32
const startsOfAccountMax = 16

/**
 * Creates the part of an API process that starts workflows. The task's row is its own outbox: what is not started
 * here is started by the reconciler, a second or two later.
 */
export function createStartRuns(deps: {
  readonly startTask: StartTask
  readonly markStarted: (taskId: string) => Promise<void>
  /** Called with each task that is left to the reconciler. */
  readonly onLeft: (taskId: string, reason: 'full' | 'failed') => void
  readonly onMarkFailed: (taskId: string, error: unknown) => void
}) {
  const running = new Map<Promise<void>, string>()

  async function startNow(start: TaskStart): Promise<void> {
    if (!(await deps.startTask(start))) return deps.onLeft(start.taskId, 'failed')
    await deps
      .markStarted(start.taskId)
      .catch((error: unknown) => deps.onMarkFailed(start.taskId, error))
  }

  return {
    /** Starts the workflow of an accepted task, unless too many starts are under way. Never throws and never waits. */
    start: (start: TaskStart): void => {
      const ofAccount = [...running.values()].filter((account) => account === start.accountId)
      if (running.size >= startsMax || ofAccount.length >= startsOfAccountMax) {
        return deps.onLeft(start.taskId, 'full')
      }
      const one = startNow(start).finally(() => running.delete(one))
      running.set(one, start.accountId)
    },
    /** Returns the number of starts under way. */
    underWay: () => running.size,
    /** Resolves when no start is under way. */
    idle: async () => {
      await Promise.all(running.keys())
    },
  }
}
