import type { Pool } from 'pg'

/** Whether a task has ended as `cancelled`; false for one that is gone. */
export function createIsCancelled(deps: { readonly pool: Pool }) {
  return async (taskId: string): Promise<boolean> => {
    const { rowCount } = await deps.pool.query({
      name: 'is-cancelled',
      text: `select from task where task_id = $1 and failure_code = 'cancelled'`,
      values: [taskId],
    })
    return rowCount === 1
  }
}
