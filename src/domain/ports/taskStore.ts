import type { TaskStart } from './taskRuns.ts'

/**
 * Wakes callers that wait for the end of a task, or for a change of its status. Implemented with PostgreSQL's
 * NOTIFY and a poll in `src/store/tasks/taskEnds.ts`.
 */
export type TaskEnds = {
  /**
   * Watches one task. Start the watch before you read the task's row. Otherwise you miss an end between the
   * read and the watch. The caller wakes at once after an end, and within a second after another change of the
   * status. `stop` ends the watch.
   */
  readonly watch: (taskId: string, what: WatchedChange) => TaskWatch
  /** Wakes every caller and closes the connection. */
  readonly close: () => Promise<void>
}

export type WatchedChange = 'end' | 'status'

export type TaskWatch = {
  /**
   * Resolves to true when the task has changed or may have changed, and to false when the signal aborts and
   * after `limitMs`. Never rejects.
   */
  readonly next: (signal: AbortSignal, limitMs?: number) => Promise<boolean>
  readonly stop: () => void
}

/**
 * Called for every task that was just accepted, so that a worker gets it. Never throws and never waits.
 */
export type OnAccepted = (start: TaskStart) => void
