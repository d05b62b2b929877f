import type { Pool, PoolClient } from 'pg'
import type { TaskStatus } from '../../domain/tasks/task.ts'
import { runStatement } from '../connection/transaction.ts'
import { publishedSql } from './lifetimes.ts'

/** What decides whether a task could be ended. */
export type TaskState = {
  readonly status: TaskStatus
  /** The published answer, until its image has expired. */
  readonly answerId: string | null
  readonly failureCode: string | null
  readonly attempts: number
  readonly isCalling: boolean
  readonly workPossible: boolean
  readonly isPastEnd: boolean
}

/**
 * Reads why an end did not happen. PostgreSQL skips a row that does not match when a statement begins, without waiting
 * for the transaction that is changing it. This read waits for that transaction. With a pool, the lock itself is gone when
 * this returns.
 */
export async function lockState(
  pool: Pool | PoolClient,
  taskId: string,
): Promise<TaskState | undefined> {
  const [row] = await runStatement<TaskState>(pool, {
    name: 'lock-state',
    text: `select status, ${publishedSql} as "answerId", failure_code as "failureCode", attempts,
        open_attempt is not null as "isCalling", work_possible as "workPossible",
        hard_end_at <= clock_timestamp() as "isPastEnd"
      from task where task_id = $1 for update`,
    values: [taskId],
  })
  return row
}
