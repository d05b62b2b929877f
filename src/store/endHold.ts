/** Where the statement finds these, as `$n`. */
type HoldParams = { readonly task: string; readonly account: string; readonly credits: string }

/**
 * The parts of a `with` that settle or release the hold of a task whose row is locked: its ledger row,
 * then the balance, in the statement that ends the task, so that a busy account's balance is locked for
 * that and the commit alone. The partial unique index makes a second end impossible. A price of zero made
 * no hold and ends none.
 */
export function endHoldSql(kind: 'settle' | 'release', params: HoldParams): string {
  const { task, account, credits } = params
  const to = kind === 'settle' ? 'spent' : 'available'
  return `entry as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits)
    select ${account}, ${task}, '${kind}', 'held', '${to}', ${credits}::bigint
    where ${credits}::bigint > 0
    returning account_id, credits
  ), balanced as (
    update balance set held = held - entry.credits, ${to} = ${to} + entry.credits
    from entry where balance.account_id = entry.account_id
  )`
}
