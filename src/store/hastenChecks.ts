import type { Pool } from 'pg'

/** Makes live rows overdue now; started ones only, the others are on their way anyhow. */
export function createHastenChecks(deps: { readonly pool: Pool }) {
  return async (taskIds: readonly string[]): Promise<void> => {
    await deps.pool.query({
      name: 'hasten-checks',
      text: `update task set next_check_at = now()
        where task_id = any($1) and status in ('queued', 'processing')
          and started_at is not null and next_check_at > now()`,
      values: [taskIds],
    })
  }
}
