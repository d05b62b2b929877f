import type { Pool } from 'pg'
import type { Channel } from '../domain/channel.ts'
import type { Family } from '../domain/models.ts'
import type { AttemptClose } from '../domain/attemptStore.ts'
import { closeOpenAttempt } from './closeOpenAttempt.ts'
import { lockTask } from './lockTask.ts'
import { noteOutcome } from './noteOutcome.ts'
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
      const { taskId, n, evidence, retryAfterMs } = close
      const closed = await closeOpenAttempt(client, taskId, n, close.class, evidence, retryAfterMs)
      if (closed === undefined) return
      if (close.nativeRefusal !== undefined) {
        const refusal = JSON.stringify(close.nativeRefusal)
        await client.query('update task set native_refusal = $2 where task_id = $1', [
          taskId,
          refusal,
        ])
      }
      const channel = deps.channelsOf(task.family).find(({ name }) => name === closed.channel)
      if (channel === undefined) return
      await noteOutcome(client, {
        taskId,
        model: task.model,
        channel,
        openedAtMs: closed.openedAtMs,
        class: close.class,
        evidence,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      })
    })
}
