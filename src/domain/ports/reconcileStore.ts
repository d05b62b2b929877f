import type { TaskStart } from './taskRuns.ts'

/** A live task that no worker has updated in time. */
export type OverdueTask = {
  readonly start: TaskStart
  /** Time left of an open attempt's lease, in which a worker may bring an answer; else 0. */
  readonly leaseLeftMs: number
}

/** A live task that no worker can bring to a success any more. */
export type PastEndTask = {
  readonly taskId: string
  /**
   * The hard end is longer ago than the grace period, and a check since then could not end the task.
   */
  readonly graceOver: boolean
}

/** The pause before the next check: `firstMs`, doubled by every check so far, at most `mostMs`. */
export type Backoff = { readonly firstMs: number; readonly mostMs: number }

/**
 * What the reconciler reads and writes. A task is due for a check when no worker has updated it in
 * time. Each function except `forgetUploads` is one statement, and each list holds at most `limit`
 * items, longest overdue first. Implemented in `src/store/reconcile/`.
 */
export type ReconcileStore = {
  /** Due tasks before their deadline whose workflow is not known to exist. */
  readonly unstartedTasks: (limit: number) => Promise<readonly TaskStart[]>
  /** Records that the workflows of these tasks exist. Ended and started tasks are ignored. */
  readonly markStarted: (taskIds: readonly string[]) => Promise<void>
  /** Due tasks that are started, except those of `pastEndTasks`. */
  readonly overdueTasks: (limit: number) => Promise<readonly OverdueTask[]>
  /** Due tasks past their deadline without an open attempt, or past their hard end. */
  readonly pastEndTasks: (limit: number, graceMs: number) => Promise<readonly PastEndTask[]>
  /** Schedules the next check of live tasks after a check that did not end them. */
  readonly postponeChecks: (taskIds: readonly string[], backoff: Backoff) => Promise<void>
  /** Makes live, started tasks due now, because their run has changed in Temporal. */
  readonly makeChecksDue: (taskIds: readonly string[]) => Promise<void>
  /**
   * Takes uploads that are due for deletion, so that no task can take them over any more, and returns
   * their ids. An upload that is not forgotten is due again after `retryMs`.
   */
  readonly takeUploads: (limit: number, retryMs: number) => Promise<readonly string[]>
  /**
   * Deletes the rows of taken uploads. The caller has deleted their blobs. Two statements: when the
   * second fails, the uploads are due again.
   */
  readonly forgetUploads: (uploadIds: readonly string[]) => Promise<void>
  /**
   * Makes the oldest inputs of ended tasks due for deletion where an account keeps more than `bytesMax`.
   * Returns how many uploads.
   */
  readonly dropExcessInputs: (bytesMax: number) => Promise<number>
  /**
   * Deletes the records of tasks that are due for the purge, and makes what is left of their uploads
   * due for deletion, in one statement. Returns how many tasks were purged.
   */
  readonly purgeTasks: (limit: number) => Promise<number>
}
