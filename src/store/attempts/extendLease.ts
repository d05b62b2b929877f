import type { Pool } from 'pg'

/**
 * Moves the lease of an open attempt to the hard end of its task, so that nobody makes the call again while its worker
 * has an answer that it cannot store yet. Does nothing when the attempt is closed.
 */
export async function extendLease(pool: Pool, taskId: string, n: number): Promise<void> {
  await pool.query({
    name: 'extend-lease',
    text: `update attempt set lease_until = greatest(lease_until, hard_end_at) from task
      where attempt.task_id = $1 and n = $2 and closed_at is null and task.task_id = $1`,
    values: [taskId, n],
  })
}
