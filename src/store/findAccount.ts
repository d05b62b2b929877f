import type { Pool, PoolClient } from 'pg'
import type { Account } from '../domain/account.ts'
import { knownModels } from './knownModels.ts'

type AccountRow = Omit<Account, 'models'> & { readonly models: string[] | null }

/** An account with its balances, by name. */
export async function findAccount(
  client: Pool | PoolClient,
  name: string,
): Promise<Account | undefined> {
  const { rows } = await client.query<AccountRow>(`${accountSql} where a.name = $1`, [name])
  return rows[0] && accountOf(rows[0])
}

/** Every account, by name. */
export async function listAccounts(pool: Pool): Promise<readonly Account[]> {
  const { rows } = await pool.query<AccountRow>(`${accountSql} order by a.name`)
  return rows.map(accountOf)
}

function accountOf({ models, ...row }: AccountRow): Account {
  return { ...row, ...knownModels(models) }
}

const accountSql = `
  select a.account_id as "accountId", a.name, a.models,
    (extract(epoch from a.created_at) * 1000)::float8 as "createdAtMs",
    b.available, b.held, b.spent
  from account a join balance b using (account_id)`
