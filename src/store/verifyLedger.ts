import type { Pool } from 'pg'
import type { Violation } from '../domain/violation.ts'
import { withTransaction } from './transaction.ts'
import { verifyBalancesSql } from './verifyBalancesSql.ts'
import { verifyTasksSql } from './verifyTasksSql.ts'

/** Faults come in masses or hardly ever; of a mass the first thousand say enough. */
const violationsMax = 1_000

/**
 * Holds the books against each other in one snapshot, whatever happens meanwhile: deposits, ledger,
 * balances, and each task's hold and end. An empty answer is the promise kept.
 */
export async function verifyLedger(pool: Pool): Promise<readonly Violation[]> {
  return withTransaction(
    pool,
    async (client) => {
      const balances = await client.query<Violation>(verifyBalancesSql, [violationsMax])
      const tasks = await client.query<Violation>(verifyTasksSql, [violationsMax])
      return [...balances.rows, ...tasks.rows]
    },
    { isolation: 'repeatable read read only' },
  )
}
