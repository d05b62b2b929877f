import type { Pool } from 'pg'
import type { AccountStore } from '../domain/accountStore.ts'
import { withTransaction } from './transaction.ts'

/** An account with its balance and, with credits, its first deposit. False when the name is taken. */
export async function createAccount(
  pool: Pool,
  account: Parameters<AccountStore['createAccount']>[0],
): Promise<boolean> {
  const { accountId, name, models, credits } = account
  return withTransaction(pool, async (client) => {
    const { rowCount } = await client.query(createSql, [accountId, name, models ?? null, credits])
    if (rowCount !== 1) return false
    if (credits > 0) await client.query(depositSql, [accountId, credits])
    return true
  })
}

const createSql = `
  with created as (
    insert into account (account_id, name, models) values ($1, $2, $3)
    on conflict (name) do nothing
    returning account_id
  )
  insert into balance (account_id, available) select account_id, $4 from created`

export const depositSql = `
  insert into ledger (account_id, kind, debit, credit, credits)
  values ($1, 'deposit', 'funding', 'available', $2)`
