import type { PoolClient } from 'pg'

/**
 * Settles or releases the hold of a task whose row is locked by the caller: a ledger row and the balance,
 * last in the lock order. The partial unique index makes a second end impossible. A price of zero made
 * no hold and ends none.
 */
export async function endHold(
  client: PoolClient,
  task: { readonly taskId: string; readonly accountId: string; readonly credits: number },
  kind: 'settle' | 'release',
): Promise<void> {
  if (task.credits === 0) return
  await client.query({
    name: `end-hold-${kind}`,
    text: kind === 'settle' ? settleSql : releaseSql,
    values: [task.accountId, task.taskId, task.credits],
  })
}

const settleSql = `
  with entry as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits)
    values ($1, $2, 'settle', 'held', 'spent', $3)
  )
  update balance set held = held - $3, spent = spent + $3 where account_id = $1`

const releaseSql = `
  with entry as (
    insert into ledger (account_id, task_id, kind, debit, credit, credits)
    values ($1, $2, 'release', 'held', 'available', $3)
  )
  update balance set held = held - $3, available = available + $3 where account_id = $1`
