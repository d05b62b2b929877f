import type { Pool } from 'pg'
import type { Account } from '../domain/account.ts'
import { accountCreditsMax } from '../domain/account.ts'
import { depositSql } from './createAccount.ts'
import { findAccount } from './findAccount.ts'
import { rollback, withTransaction } from './transaction.ts'

/** A deposit: ledger row and balance, in the ledger's own lock order. */
export async function topUpAccount(
  pool: Pool,
  name: string,
  credits: number,
): Promise<Account | 'beyond_limit' | undefined> {
  return withTransaction<Account | 'beyond_limit' | undefined>(pool, async (client) => {
    const account = await findAccount(client, name)
    if (account === undefined || credits === 0) return account
    await client.query(depositSql, [account.accountId, credits])
    const { rowCount } = await client.query(creditSql, [
      account.accountId,
      credits,
      accountCreditsMax,
    ])
    return rowCount === 1 ? findAccount(client, name) : rollback('beyond_limit')
  })
}

const creditSql = `
  update balance set available = available + $2
  where account_id = $1 and available + held + spent + $2::bigint <= $3::bigint`
