import type { Pool } from 'pg'
import type { TaskStart } from '../domain/execution.ts'
import type { TaskStartRow } from './taskStartRow.ts'
import { taskStartColumns, taskStartOf } from './taskStartRow.ts'

/** Live tasks whose workflow is not known to exist, longest due first (design 1.2, 1.12). */
export function createUnstartedTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<readonly TaskStart[]> => {
    const { rows } = await deps.pool.query<TaskStartRow>({
      name: 'unstarted-tasks',
      text: `select ${taskStartColumns} from task
        where status in ('queued', 'processing') and next_check_at <= now()
          and started_at is null and deadline_at > now()
        order by next_check_at limit $1`,
      values: [limit],
    })
    return rows.map(taskStartOf)
  }
}
