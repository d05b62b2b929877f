/**
 * One row per violation of a task: one hold, at most one end, and the end that its status asks for. A task
 * without a price has no entries; a purged one has left entries that must have come to an end.
 */
export const verifyTasksSql = `
  with entries as (
    select task_id, min(account_id) as account_id,
      count(*) filter (where kind = 'hold') as holds,
      count(*) filter (where kind = 'settle') as settles,
      count(*) filter (where kind = 'release') as releases,
      min(credits) as least_credits, max(credits) as most_credits,
      min(account_id) <> max(account_id) as accounts_mixed
    from ledger where task_id is not null group by task_id
  ), books as (
    select task_id, coalesce(t.account_id, e.account_id) as account_id, t.status, t.credits,
      coalesce(e.holds, 0) as holds, coalesce(e.settles, 0) as settles,
      coalesce(e.releases, 0) as releases,
      least_credits <> most_credits or t.credits not in (least_credits, 0) as credits_differ,
      accounts_mixed or t.account_id <> e.account_id as account_differs
    from task t full join entries e using (task_id)
  )
  select task_id as "taskId", account_id as "accountId", kind
  from books, unnest(array[
    case when credits > 0 and holds = 0 then 'hold_missing' end,
    case when holds > 1 then 'hold_twice' end,
    case when credits = 0 and holds + settles + releases > 0 then 'hold_of_free_task' end,
    case when credits_differ then 'credits_differ' end,
    case when account_differs then 'account_differs' end,
    case when settles + releases > 1 then 'end_twice' end,
    case when settles + releases > 0 and holds = 0 then 'end_without_hold' end,
    case when status in ('queued', 'processing') and settles + releases > 0 then 'live_task_ended' end,
    case when status = 'succeeded' and credits > 0 and settles <> 1 then 'succeeded_not_settled' end,
    case when status = 'failed' and credits > 0 and releases <> 1 then 'failed_not_released' end,
    case when status is null and settles + releases = 0 then 'held_without_task' end
  ]) as kind
  where kind is not null
  order by task_id, kind
  limit $1`
