import { families } from '../../domain/models/models.ts'
import type { DirectTask } from '../../domain/tasks/directRun.ts'
import type { Notifier } from '../connection/notifier.ts'

/** The name for NOTIFY under which workers hear of new synchronous tasks. */
export const syncTaskChannel = 'sync_task'

/** Tells all workers of a synchronous task. Never throws and never waits. The message may be lost. */
export function announceSyncTask({ send }: Pick<Notifier, 'send'>, task: DirectTask): void {
  send(syncTaskChannel, `${task.family} ${task.taskId}`)
}

/** Reads a message of `announceSyncTask`. Returns `undefined` for any other text. */
export function readSyncTask(text: string): DirectTask | undefined {
  const [name, taskId] = text.split(' ')
  const family = families.find((each) => each === name)
  return family === undefined || taskId === undefined ? undefined : { family, taskId }
}
