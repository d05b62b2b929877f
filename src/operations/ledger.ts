import * as store from '../store/accounts/verifyLedger.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { verification } from '../schema/operators/money.ts'
import type { OperationDeps } from './operation.ts'

/** Checks that deposits, ledger, balances and tasks agree. Reads all of the ledger, which may take minutes. */
export async function verifyLedger({
  pool,
}: OperationDeps): Promise<AnswerOf<typeof verification>> {
  const violations = await store.verifyLedger(pool)
  return { ok: violations.length === 0, violations }
}
