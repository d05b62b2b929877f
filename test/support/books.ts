import type { Pool } from 'pg'

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

/** What the upstream's answers to one task were taken for, in order: `refused rate_limited`. */
export async function outcomesOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ outcome: string }>(
    `select coalesce(class, 'open') || ' ' || coalesce(reason, '') as outcome
     from attempt where task_id = $1 order by n`,
    [taskId],
  )
  return rows.map(({ outcome }) => outcome)
}
