import type { Pool } from 'pg'
import type { Channel } from '../domain/channel.ts'
import type { Family } from '../domain/models.ts'
import type { AttemptClose } from '../domain/attemptStore.ts'
import { concludeAttempt } from './concludeAttempt.ts'
import { lockTask } from './lockTask.ts'
import { withTransaction } from './transaction.ts'

/**
 * Closes an attempt that brought no image, and tells channel and cooldown. Repeating it, or closing an
 * attempt that was given up for lost meanwhile, changes nothing.
 */
export function createCloseAttempt(deps: {
  readonly pool: Pool
  readonly channelsOf: (family: Family) => readonly Channel[]
}) {
  return async (close: AttemptClose): Promise<void> =>
    withTransaction(deps.pool, async (client) => {
      const task = await lockTask(client, close.taskId)
      if (task === undefined) return
      const closed = await concludeAttempt(client, deps.channelsOf, task, close)
      if (!closed || close.nativeRefusal === undefined) return
      await client.query('update task set native_refusal = $2 where task_id = $1', [
        close.taskId,
        JSON.stringify(close.nativeRefusal),
      ])
    })
}
