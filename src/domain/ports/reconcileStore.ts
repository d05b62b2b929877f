import type { TaskStart } from './taskRuns.ts'

/** A live task that no worker has updated for too long. */
export type OverdueTask = {
  readonly start: TaskStart
  /** Whether a present process makes an upstream call for the task. The call may still bring an answer. */
  readonly callUnderWay: boolean
}

/** A live task for which no worker may make a call any more. */
export type PastEndTask = {
  readonly taskId: string
  /** How many attempts the task has had. */
  readonly attempts: number
  /**
   * The hard end passed longer ago than the grace period, and at least one check after the hard end could not
   * end the task.
   */
  readonly graceOver: boolean
}

/** Why a check did not end its task. The pauses before the next check depend on it: see `checkSchedule.ts`. */
export type CheckResult =
  /** The task's workflow runs, or was just started again. */
  | 'running'
  | 'temporal_unreachable'
  /** Temporal did not start the task's workflow. */
  | 'not_started'
  /** A call is under way, but no workflow runs. The call may end at any time. */
  | 'call_under_way'
  /** The check itself failed, for example because the blob store could not be read. */
  | 'error'

/**
 * What the reconciler reads and writes. A task is due for a check when no worker has updated it for too long. Each
 * function is one statement, except `forgetUploads`. Each list contains at most `limit` items, longest overdue first.
 * Implemented in `src/store/reconcile/`.
 */
export type ReconcileStore = {
  /** Returns due tasks before their deadline whose workflow is not known to exist. */
  readonly unstartedTasks: (limit: number) => Promise<readonly TaskStart[]>
  /**
   * Records that the workflows of these tasks exist. Ignores tasks that have ended or are already recorded as
   * started.
   */
  readonly markStarted: (taskIds: readonly string[]) => Promise<void>
  /** Returns due tasks that are started, except the tasks of `pastEndTasks`. */
  readonly overdueTasks: (limit: number) => Promise<readonly OverdueTask[]>
  /** Returns due tasks that are past their deadline and have no open attempt, or are past their hard end. */
  readonly pastEndTasks: (limit: number, graceMs: number) => Promise<readonly PastEndTask[]>
  /** Schedules the next check of live tasks after a check that did not end them. */
  readonly postponeChecks: (taskIds: readonly string[], result: CheckResult) => Promise<void>
  /** Makes live tasks due for a check now. */
  readonly makeChecksDue: (taskIds: readonly string[]) => Promise<void>
  /**
   * Takes uploads that are due for deletion and returns their ids. From then on no task can take them over.
   * If an upload is not forgotten, it is due again after `retryMs`.
   */
  readonly takeUploads: (limit: number, retryMs: number) => Promise<readonly string[]>
  /**
   * Deletes the rows of taken uploads, whose blobs the caller has deleted. Runs two statements. If the second
   * one fails, the uploads become due again.
   */
  readonly forgetUploads: (uploadIds: readonly string[]) => Promise<void>
  /**
   * Makes the requests and inputs of the oldest failed tasks due for deletion where an account keeps more than
   * `bytesMax` of them. Returns how many tasks that were.
   */
  readonly dropExcessInputs: (bytesMax: number) => Promise<number>
  /**
   * Deletes the requests of failed tasks whose time for a retry is over. Returns how many tasks that were.
   */
  readonly forgetRequests: (limit: number) => Promise<number>
  /**
   * Deletes the records of tasks that are due for the purge, and makes their remaining uploads due for
   * deletion, in one statement. Returns how many tasks were purged.
   */
  readonly purgeTasks: (limit: number) => Promise<number>
}
