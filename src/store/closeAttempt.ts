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
      if (!(await concludeAttempt(client, deps.channelsOf, task, close))) return
      const { taskId, nativeRefusal } = close
      await client.query({
        name: 'after-attempt',
        text: afterSql,
        values: [taskId, nativeRefusal === undefined ? null : JSON.stringify(nativeRefusal)],
      })
    })
}

/**
 * The next look was to come behind the lease. Now the worker goes on at once, to a wait or to the end;
 * should it die before, the task is not to stay until then. Half a minute is more than it needs, so that
 * the end it has found is not overtaken by one of the reconciler's.
 */
const afterSql = `
  update task set next_check_at = least(next_check_at, now() + interval '30 seconds'),
    native_refusal = coalesce($2, native_refusal)
  where task_id = $1`
