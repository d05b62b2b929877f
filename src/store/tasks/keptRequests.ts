import type { Pool } from 'pg'

// The requests and inputs of failed tasks are kept for a time (`retry_until`), because an operator may retry them.

/**
 * Ends the time in which the oldest failed tasks of an account can be retried, if the account keeps more than
 * `bytesMax` of requests and inputs for retries. Makes the inputs of these tasks due for the sweep. Live tasks do not
 * count, because their price is held. Returns how many tasks have lost their time for a retry.
 *
 * A task that a retry has locked is skipped. For speed, the sums by account need only the index `task_retry_until`,
 * and only the tasks of accounts that keep too much are sorted.
 */
export async function dropExcessInputs(pool: Pool, bytesMax: number): Promise<number> {
  const { rows } = await pool.query<{ dropped: number }>({
    name: 'drop-excess-inputs',
    text: excessSql,
    values: [bytesMax],
  })
  return rows[0]?.dropped ?? 0
}

const excessSql = `
  with accounts as materialized (
    select account_id from task where retry_until > now()
    group by account_id having sum(retry_bytes) > $1
  ), kept as materialized (
    select task_id, sum(retry_bytes) over (
      partition by account_id order by retry_until desc, task_id
    ) as total
    from task join accounts using (account_id) where retry_until > now()
  ), excess as (
    select task_id from task
    where task_id in (select task_id from kept where total > $1) and retry_until > now()
    for update skip locked
  ), dropped as (
    update task set retry_until = now() from excess where task.task_id = excess.task_id
  ), inputs as (
    update upload set sweep_after = now() from excess
    where upload.task_id = excess.task_id and kind = 'input' and sweep_after > now()
  )
  select count(*)::int as dropped from excess`

/**
 * Deletes the requests of failed tasks whose time for a retry is over, beginning with the time that ended first.
 * Returns how many requests were deleted.
 */
export async function forgetRequests(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query({
    text: `with due as materialized (
        select task_id as due_id from task where retry_until <= now()
        order by retry_until limit $1 for update skip locked
      )
      update task set request = null, retry_until = null, retry_bytes = null
      from due where task_id = due_id`,
    values: [limit],
  })
  return rowCount ?? 0
}
