/**
 * Returns the condition that finds the balance of one account (`account` is an SQL expression). While a snapshot is open
 * (`pg_dump`, `ledger verify`), PostgreSQL keeps every version of the row, and a search by the account alone would visit
 * all of them. The row gets a new generation with every 64th change, and this condition begins at the newest one.
 *
 * The row may get a further generation while a statement waits for its lock, so the condition is `>=` and not `=`.
 */
export function isBalanceOfSql(account: string): string {
  return `balance.account_id = ${account} and balance.generation >= (
      select newest.generation from balance as newest where newest.account_id = ${account}
      order by newest.generation desc limit 1)`
}

/** Part of every update of a balance. */
export const countChangeSql = 'changes = changes + 1'
