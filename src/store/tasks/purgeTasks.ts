import type { Pool } from 'pg'

/**
 * Deletes ended tasks whose time as a record is over (`purge_at`), with their attempts and idempotency keys. Their
 * ledger rows stay, and their remaining uploads become due for the sweep. Also deletes the counts of budgets whose
 * period ended more than a day ago, and deliveries of events that belong to no task after 8 days. Returns how many tasks
 * were deleted.
 */
export async function purgeTasks(pool: Pool, limit: number): Promise<number> {
  const { rows } = await pool.query<{ purged: number }>({
    text: purgeSql,
    values: [limit],
  })
  return rows[0]?.purged ?? 0
}

const purgeSql = `
  with due as materialized (
    select task_id as due_id from task where purge_at <= now()
    order by purge_at limit $1 for update skip locked
  ), gone as (
    delete from task using due where task_id = due_id returning task_id
  ), uploads as (
    update upload set sweep_after = least(sweep_after, now())
    from gone where upload.task_id = gone.task_id
  ), budgets as (
    delete from budget_use where ends_at < now() - interval '1 day'
  ), deliveries as (
    delete from webhook_delivery where data is not null and created_at < now() - interval '8 days'
  )
  select count(*)::int as purged from gone`
