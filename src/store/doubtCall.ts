import type { PoolClient } from 'pg'
import { doubtMs, presenceEveryMs, presentMs } from '../domain/limits.ts'
import type { LockedAttempt, LockedTask } from './lockTask.ts'

/**
 * How long an open call that somebody else made is to be waited for before the next look, in
 * milliseconds; 0: it is lost. Temporal may have lost sight of a worker that lives, or an operator has
 * reset its run. The first look at a silent one only doubts it: it may have been PostgreSQL that nobody
 * could speak to. Past the task's hard end there is nothing left to wait for.
 */
export async function doubtCall(
  client: PoolClient,
  { taskId, nowMs, hardEndMs }: LockedTask,
  { n, seenAtMs, doubtedAtMs }: LockedAttempt,
): Promise<number> {
  if (nowMs >= hardEndMs) return 0
  if (nowMs - seenAtMs < presentMs) return presenceEveryMs
  if (doubtedAtMs > seenAtMs) return Math.max(0, doubtedAtMs + doubtMs - nowMs)
  await client.query({
    name: 'doubt-attempt',
    text: 'update attempt set doubted_at = clock_timestamp() where task_id = $1 and n = $2',
    values: [taskId, n],
  })
  return doubtMs
}
