import type { Pool } from 'pg'

/**
 * Deletes records whose time has come, with their attempts and their key, which is free again from then
 * on (design, lifetimes). What is left of their uploads is swept next. The ledger stays.
 */
export function createPurgeTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<number> => {
    const { rows } = await deps.pool.query<{ purged: number }>({
      name: 'purge-tasks',
      text: purgeSql,
      values: [limit],
    })
    return rows[0]?.purged ?? 0
  }
}

const purgeSql = `
  with gone as (
    delete from task where task_id in (
      select task_id from task where purge_at <= now()
      order by purge_at limit $1 for update skip locked)
    returning task_id
  ), uploads as (
    update upload set sweep_after = least(sweep_after, now())
    from gone where upload.task_id = gone.task_id
  )
  select count(*)::int as purged from gone`
