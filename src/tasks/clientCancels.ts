import type { Pool } from 'pg'
import type { Caller } from '../domain/accounts/account.ts'
import { assertNever } from '../domain/assertNever.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { AttemptStore } from '../store/attempts/attemptStore.ts'
import { readTask } from '../store/tasks/readTask.ts'
import { retryFor } from './timeLimits.ts'

export type ClientCancelDeps = {
  readonly pool: Pool
  readonly cancelTask: AttemptStore['cancelTask']
  /**
   * Asks the workflow of a cancelled task to end now. Never throws and never waits. Without this request the
   * workflow would end when it continues the next time.
   */
  readonly endRun: (taskId: string) => void
  /** How long a task may wait for its calls. */
  readonly taskDeadlineMs: number
}

/**
 * Cancels a task because its owner asks for it, and returns the cancelled task. Which tasks can be cancelled is decided
 * in `store/tasks/ends.ts`. A task that was cancelled before is returned again. A task of another account is
 * `task_not_found`, as if it did not exist.
 */
export async function cancelOwnTask(
  { pool, cancelTask, endRun }: ClientCancelDeps,
  { accountId }: Caller,
  taskId: string,
): Promise<Result<TaskView, RequestFailure>> {
  if ((await readTask(pool, taskId, accountId)) === undefined) return notFound
  const result = await cancelTask(taskId, 'asked')
  switch (result) {
    case 'cancelled': {
      endRun(taskId)
      const cancelled = await readTask(pool, taskId, accountId)
      return cancelled === undefined ? notFound : succeed(cancelled)
    }
    case 'call_under_way':
    case 'work_possible':
    case 'succeeded':
    case 'failed':
      return fail({ tag: 'task_not_cancellable', reason: result })
    case 'missing':
      return notFound
    default:
      return assertNever(result)
  }
}

const notFound = fail({ tag: 'task_not_found' } as const)

/**
 * Cancels a task whose last client has left, unless a call may have done work. Returns at once. A cancellation that
 * PostgreSQL does not answer is tried again for as long as a task may wait for its calls, because afterwards no call of
 * the task begins. Without these tries the client would pay for the image of a task that it has left. Gives up when
 * `isAwaited` says that a new client waits for the task.
 */
export function cancelLeftTask(
  { cancelTask, taskDeadlineMs }: Pick<ClientCancelDeps, 'cancelTask' | 'taskDeadlineMs'>,
  taskId: string,
  isAwaited: () => boolean,
): void {
  retryFor(taskDeadlineMs, async () => {
    if (!isAwaited()) await cancelTask(taskId, 'client_left')
  }).catch(() => {})
}
