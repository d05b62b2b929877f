import type { Pool, PoolClient } from 'pg'
import { doubtMs, presenceEveryMs, presentMs } from '../../domain/limits.ts'
import type { AttemptName } from '../../domain/ports/attemptStore.ts'
import type { LockedAttempt, LockedTask } from '../tasks/lockTask.ts'

/**
 * Records that the calls of these attempts are under way. Ignores attempts that are closed or do not exist.
 * Skips an attempt whose row is locked, so that the other attempts do not wait for the lock.
 */
export async function touchAttempts(pool: Pool, attempts: readonly AttemptName[]): Promise<void> {
  await pool.query({
    name: 'touch-attempts',
    text: touchSql,
    values: [attempts.map(({ taskId }) => taskId), attempts.map(({ n }) => n)],
  })
}

const touchSql = `
  with present as materialized (
    select attempt.task_id, attempt.n
    from attempt join unnest($1::text[], $2::integer[]) as named (task_id, n) using (task_id, n)
    where closed_at is null
    for update of attempt skip locked
  )
  update attempt set seen_at = clock_timestamp()
  from present where attempt.task_id = present.task_id and attempt.n = present.n`

/**
 * Whether the worker of an open attempt still gives signs of its presence. Asked by another worker that
 * took the task over, because Temporal may have lost sight of a live worker or an operator has reset the
 * run, and before a task is failed.
 * Returns how long to wait before the next check, in milliseconds, or 0 when the call counts as lost.
 *
 * When a worker is silent, it is only doubted at first. If it is still silent `doubtMs` later, its call
 * counts as lost. The doubt is needed because no worker could record its presence while PostgreSQL was
 * unreachable. Past the task's hard end, no call is waited for.
 */
export async function checkPresence(
  client: PoolClient,
  { taskId, nowMs, hardEndAtMs }: LockedTask,
  { n, seenAtMs, doubtedAtMs }: LockedAttempt,
): Promise<number> {
  if (nowMs >= hardEndAtMs) return 0
  if (nowMs - seenAtMs < presentMs) return presenceEveryMs
  // If the worker has recorded its presence after the doubt, the doubt no longer counts.
  if (doubtedAtMs !== null && doubtedAtMs > seenAtMs) {
    return Math.max(0, doubtedAtMs + doubtMs - nowMs)
  }
  await client.query({
    name: 'doubt-attempt',
    text: 'update attempt set doubted_at = clock_timestamp() where task_id = $1 and n = $2',
    values: [taskId, n],
  })
  return doubtMs
}
