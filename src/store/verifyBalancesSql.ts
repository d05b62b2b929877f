/**
 * One row per violation of an account: what its ledger rows sum up to against its balance. Money comes in
 * by deposits only, so they are the sum of the three buckets.
 */
export const verifyBalancesSql = `
  with sums as (
    select account_id,
      sum(case kind when 'deposit' then credits else 0 end) as deposits,
      sum(case 'available' when credit then credits when debit then -credits else 0 end) as available,
      sum(case 'held' when credit then credits when debit then -credits else 0 end) as held,
      sum(case 'spent' when credit then credits when debit then -credits else 0 end) as spent
    from ledger group by account_id
  ), books as (
    select account_id, a.name is not null as known, b.available is not null as kept,
      coalesce(b.available, 0) as available, coalesce(b.held, 0) as held,
      coalesce(b.spent, 0) as spent, coalesce(s.deposits, 0) as deposits,
      coalesce(s.available, 0) as entered_available, coalesce(s.held, 0) as entered_held,
      coalesce(s.spent, 0) as entered_spent
    from account a full join balance b using (account_id) full join sums s using (account_id)
  )
  select account_id as "accountId", kind
  from books, unnest(array[
    case when not kept then 'account_without_balance' end,
    case when not known then 'balance_without_account' end,
    case when least(available, held, spent) < 0 then 'negative_balance' end,
    case when available <> entered_available then 'available_differs' end,
    case when held <> entered_held then 'held_differs' end,
    case when spent <> entered_spent then 'spent_differs' end,
    case when deposits <> available + held + spent then 'deposits_differ' end
  ]) as kind
  where kind is not null
  order by account_id, kind
  limit $1`
