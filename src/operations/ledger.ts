import type { Violation } from '../domain/accounts/violation.ts'
import { defined } from '../domain/defined.ts'
import * as store from '../store/accounts/verifyLedger.ts'
import type { OperationDeps } from './operation.ts'

export type LedgerCheck = {
  readonly ok: boolean
  /** What does not agree: a thing about a task when it has a `task_id`, else about an account. */
  readonly violations: readonly {
    readonly kind: Violation['kind']
    readonly account_id: string
    readonly task_id?: string
  }[]
}

/** Checks that deposits, ledger, balances and tasks agree. Reads all of the ledger, which may take minutes. */
export async function verifyLedger({ pool }: OperationDeps): Promise<LedgerCheck> {
  const violations = await store.verifyLedger(pool)
  return {
    ok: violations.length === 0,
    violations: violations.map((violation) => ({
      kind: violation.kind,
      account_id: violation.accountId,
      ...defined({ task_id: 'taskId' in violation ? violation.taskId : undefined }),
    })),
  }
}
