import type { Pool } from 'pg'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'

/** Returns the ledger entries of a task in order: `hold`, then `settle` or `release`, each with its credits. */
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

/** Returns the kinds of the task's ledger entries in order. */
export async function moneyOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  return (await entriesOf(pool, taskId)).map(({ kind }) => kind)
}

/** Returns the kinds of the entries that end the hold of a task: `settle` or `release`, and nothing before its end. */
export async function endsOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  return (await moneyOf(pool, taskId)).filter((kind) => kind !== 'hold')
}

/** Throws when deposits, ledger, balances and tasks do not agree. */
export async function assertLedgerVerifies(pool: Pool): Promise<void> {
  const violations = await verifyLedger(pool)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
}

/** Returns the balance of an account, or `undefined` for an unknown account. */
export async function balanceOf(
  pool: Pool,
  accountId: string,
): Promise<{ available: number; held: number; spent: number } | undefined> {
  const { rows } = await pool.query<{ available: number; held: number; spent: number }>(
    `select available::int as available, held::int as held, spent::int as spent
     from account_balance where account_id = $1`,
    [accountId],
  )
  return rows[0]
}
