import type { TaskStart } from './taskRuns.ts'

/** A live row that is overdue for a sign of life. */
export type OverdueTask = {
  readonly start: TaskStart
  /** An attempt is open and its worker may still bring an answer; milliseconds, 0 when nobody may. */
  readonly leaseLeftMs: number
}

/** A live task whose time is over. */
export type PastEndTask = {
  readonly taskId: string
  /** Its hard end is over by more than the given patience, and it was looked at in vain since. */
  readonly patienceOver: boolean
}

/** How long until a row is looked at again: `firstMs`, doubled by every look so far, at most `mostMs`. */
export type Backoff = { readonly firstMs: number; readonly mostMs: number }

/** What the reconciler reads and writes, over PostgreSQL; every list is bounded by its `limit`. */
export type ReconcileStore = {
  /** Live, before their deadline, and no workflow is known to exist. */
  readonly unstartedTasks: (limit: number) => Promise<readonly TaskStart[]>
  readonly markStarted: (taskIds: readonly string[]) => Promise<void>
  /** Started, overdue, and not for `pastEndTasks`. */
  readonly overdueTasks: (limit: number) => Promise<readonly OverdueTask[]>
  /** Past the deadline with no attempt open, or past the hard end: no worker may bring anything more. */
  readonly pastEndTasks: (limit: number, patienceMs: number) => Promise<readonly PastEndTask[]>
  readonly postponeChecks: (taskIds: readonly string[], backoff: Backoff) => Promise<void>
  /** Makes live rows overdue now: something was heard of their runs. */
  readonly hastenChecks: (taskIds: readonly string[]) => Promise<void>
  /**
   * Uploads whose time has come, taken so that no task can take them over any more; due again after
   * `retryMs` unless they are forgotten.
   */
  readonly takeUploads: (limit: number, retryMs: number) => Promise<readonly string[]>
  /** Their blobs are gone. */
  readonly forgetUploads: (uploadIds: readonly string[]) => Promise<void>
  /** Deletes records whose time has come, and gives up what is left of their uploads; how many. */
  readonly purgeTasks: (limit: number) => Promise<number>
}
