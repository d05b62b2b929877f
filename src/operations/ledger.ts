import type { Violation } from '../store/accounts/verifyLedger.ts'
import * as store from '../store/accounts/verifyLedger.ts'
import type { OperationDeps } from './operation.ts'

export type LedgerCheck = { readonly ok: boolean; readonly violations: readonly Violation[] }

/** Checks that deposits, ledger, balances and tasks agree. Reads all of the ledger, which may take minutes. */
export async function verifyLedger({ pool }: OperationDeps): Promise<LedgerCheck> {
  const violations = await store.verifyLedger(pool)
  return { ok: violations.length === 0, violations }
}
