/** The columns that `done` must return for `endHoldSql`. */
export const endedColumns = `task_id, account_id, key_id, model, credits, created_at, completed_at, retry_of`

/**
 * Returns the parts of a `with` clause that settle or release the holds of locked tasks of one account. The part
 * `done` of the same clause has ended the tasks, and returns `endedColumns`. The parts insert the ledger rows, then
 * update the balance. They are part of the statement that ends the tasks, so that the balance of a
 * busy account stays locked only for this statement and its commit. The unique index `ledger_one_end` prevents a second
 * end of a task.
 *
 * The ledger row has the time of the end. PostgreSQL ends the statement and then an idle transaction after 10
 * seconds each, so a minute after the end of a period all its rows are visible.
 */
export function endHoldSql(kind: 'settle' | 'release'): string {
  const to = kind === 'settle' ? 'spent' : 'available'
  // A release returns the credits to the period of the submit. A key without a budget has no rows there. The rows are
  // locked in the order of their keys, so that two statements wait for each other in one direction only.
  const refunded =
    kind === 'settle'
      ? ''
      : `refunded as (
    update budget_use set used = greatest(0, used - back.credits)
    from (
      select key_id, starts_at, sum(credits) as credits
      from (
        select period.key_id, period.starts_at, done.credits
        from done join budget_use as period on period.key_id = done.key_id
        where done.retry_of is null and done.created_at >= starts_at and done.created_at < ends_at
        order by period.key_id, period.starts_at
        for update of period
      ) as held
      group by key_id, starts_at
    ) as back
    where budget_use.key_id = back.key_id and budget_use.starts_at = back.starts_at
    returning 1
  ), `
  const after = kind === 'settle' ? '' : ', (select count(*) from refunded) as after_refunded'
  return `${refunded}entry as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id, model, created_at)
    select account_id, task_id, '${kind}', 'held', '${to}', credits, key_id, model, completed_at from done
    returning credits
  ), balanced as (
    update balance set held = held - moved.credits, ${to} = ${to} + moved.credits
    from (select sum(credits) as credits from entry) as moved${after}
    where balance.account_id = (select account_id from done limit 1) and moved.credits > 0
  )`
}
