import type { Pool } from 'pg'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'

/** The money of one task, as the ledger tells it: `hold`, then `settle` or `release`, and the credits of each. */
export async function entriesOf(
  pool: Pool,
  taskId: string,
): Promise<readonly { readonly kind: string; readonly credits: number }[]> {
  const { rows } = await pool.query<{ kind: string; credits: number }>(
    'select kind, credits::int as credits from ledger where task_id = $1 order by entry_id',
    [taskId],
  )
  return rows
}

/** Kinds of the task's ledger rows in order. */
export async function moneyOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  return (await entriesOf(pool, taskId)).map(({ kind }) => kind)
}

/** After every test: deposits, ledger, balances and tasks agree. Throws what does not. */
export async function booksAgree(pool: Pool): Promise<void> {
  const violations = await verifyLedger(pool)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
}

export async function balanceOf(
  pool: Pool,
  accountId: string,
): Promise<{ available: number; held: number; spent: number } | undefined> {
  const { rows } = await pool.query<{ available: number; held: number; spent: number }>(
    `select available::int as available, held::int as held, spent::int as spent
     from balance where account_id = $1`,
    [accountId],
  )
  return rows[0]
}
