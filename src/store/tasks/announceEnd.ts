import type { Notifier } from '../connection/notifier.ts'

/** The name for NOTIFY under which a process reports the ids of the tasks that it has ended. */
export const taskEndChannel = 'task_end'

/**
 * Called with every task that was just ended, after the commit, so that waiting processes notice it at once. Never
 * throws and never waits.
 */
export type AnnounceEnd = (taskId: string) => void

/** Creates the function that announces ends by notifications of PostgreSQL. */
export function createAnnounceEnd({ send }: Pick<Notifier, 'send'>): AnnounceEnd {
  return (taskId) => send(taskEndChannel, taskId)
}
