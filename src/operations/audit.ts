import type { PoolClient } from 'pg'
import type { List } from '../domain/lists/list.ts'
import type { Result } from '../domain/result.ts'
import type { AuditEntry, AuditFilter, AuditJson } from '../store/auditRows.ts'
import { insertAudit, readAudit } from '../store/auditRows.ts'
import { withTransaction } from '../store/connection/transaction.ts'
import type { Done, OperationDeps, OperationFailure } from './operation.ts'
import { codeOf, listed } from './operation.ts'

/** What an operator changes. `params` must contain no secret. */
export type Change = Pick<AuditEntry, 'action' | 'target' | 'params'>

/**
 * Makes a change and writes its row of the audit, in one transaction: a change that cannot be recorded is not made.
 * When `work` returns a failure, what it wrote is taken back, and the row has the code of the failure. After a deadlock
 * `work` runs again.
 */
export async function audited<Value>(
  { pool, actor }: OperationDeps,
  change: Change,
  work: (client: PoolClient) => Done<Value>,
): Done<Value> {
  return withTransaction<Result<Value, OperationFailure>>(pool, async (client) => {
    await client.query('savepoint unchanged')
    const result = await work(client)
    if (!result.ok) await client.query('rollback to savepoint unchanged')
    const outcome = result.ok ? 'done' : codeOf(result.failure)
    await insertAudit(client, { ...change, actor, outcome })
    return result
  })
}

/** Returns the rows of the audit that match the filter, newest first. */
export async function listAudit(
  { pool }: OperationDeps,
  filter: AuditFilter,
): Done<List<AuditJson>> {
  return listed(await readAudit(pool, filter))
}
