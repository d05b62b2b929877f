import type { Pool, PoolClient } from 'pg'
import { doubtMs, presenceEveryMs, presentMs } from '../../domain/limits.ts'
import type { AttemptName } from '../../domain/ports/attemptStore.ts'
import type { LockedAttempt, LockedTask } from '../tasks/lockTask.ts'

/**
 * Notes that these attempts' worker lives. One that is closed, or gone, is left as it is; so is one whose
 * row is locked, lest all the others wait for it.
 */
export function createTouchAttempts({ pool }: { readonly pool: Pool }) {
  return async (attempts: readonly AttemptName[]): Promise<void> => {
    await pool.query({
      name: 'touch-attempts',
      text: touchSql,
      values: [attempts.map(({ taskId }) => taskId), attempts.map(({ n }) => n)],
    })
  }
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
 * How long an open call that somebody else made is to be waited for before the next look, in
 * milliseconds; 0: it is lost. Temporal may have lost sight of a worker that lives, or an operator has
 * reset its run. The first look at a silent one only doubts it: it may have been PostgreSQL that nobody
 * could speak to. Past the task's hard end there is nothing left to wait for.
 */
export async function doubtCall(
  client: PoolClient,
  { taskId, nowMs, hardEndAtMs }: LockedTask,
  { n, seenAtMs, doubtedAtMs }: LockedAttempt,
): Promise<number> {
  if (nowMs >= hardEndAtMs) return 0
  if (nowMs - seenAtMs < presentMs) return presenceEveryMs
  if (doubtedAtMs > seenAtMs) return Math.max(0, doubtedAtMs + doubtMs - nowMs)
  await client.query({
    name: 'doubt-attempt',
    text: 'update attempt set doubted_at = clock_timestamp() where task_id = $1 and n = $2',
    values: [taskId, n],
  })
  return doubtMs
}
