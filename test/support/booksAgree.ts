import type { Pool } from 'pg'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'

/** After every test: deposits, ledger, balances and tasks agree. Throws what does not. */
export async function booksAgree(pool: Pool): Promise<void> {
  const violations = await verifyLedger(pool)
  if (violations.length > 0) throw new Error(JSON.stringify(violations))
}
