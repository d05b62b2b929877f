import type { Pool, PoolClient } from 'pg'
import { doubtMs, presenceEveryMs, presentMs } from '../../domain/limits.ts'
import type { AttemptName } from '../../domain/ports/attemptStore.ts'
import type { LockedAttempt, LockedTask } from '../tasks/lockTask.ts'

/**
 * Records the presence of these attempts' worker: their calls are under way. Closed and unknown
 * attempts are left alone. An attempt whose row is locked is skipped, so that the others do not wait
 * for it.
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
 * A worker that is found silent is only doubted at first, and `doubtMs` later counts as lost if it is
 * still silent: while PostgreSQL was unreachable, no worker could record its presence. Past the task's hard
 * end no call is waited for.
 */
export async function checkPresence(
  client: PoolClient,
  { taskId, nowMs, hardEndAtMs }: LockedTask,
  { n, seenAtMs, doubtedAtMs }: LockedAttempt,
): Promise<number> {
  if (nowMs >= hardEndAtMs) return 0
  if (nowMs - seenAtMs < presentMs) return presenceEveryMs
  // A doubt from before the last sign of presence was unfounded.
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
