import type { Pool, PoolClient } from 'pg'
import type { Account } from '../../domain/accounts/account.ts'
import { accountCreditsMax } from '../../domain/accounts/account.ts'
import type { ModelId } from '../../domain/models/models.ts'
import { isModelId } from '../../domain/models/models.ts'
import { rollback, withTransaction } from '../connection/transaction.ts'

export type NewAccount = {
  readonly accountId: string
  /** The account's name, unique in the installation. */
  readonly name: string
  /** Models that the account may use. Absent: every model. */
  readonly models?: readonly ModelId[]
  /** The first deposit. With 0 no deposit is made. */
  readonly credits: number
}

/** Creates an account with its balance and its first deposit. Returns false when the name is taken. */
export async function createAccount(pool: Pool, account: NewAccount): Promise<boolean> {
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
  insert into balance (account_id, available, deposited) select account_id, $4, $4 from created`

const depositSql = `
  insert into ledger (account_id, kind, debit, credit, credits)
  values ($1, 'deposit', 'funding', 'available', $2)`

type AccountRow = Omit<Account, 'models'> & { readonly models: string[] | null }

/** Finds an account by its name and returns it with its balances. */
export async function findAccount(
  client: Pool | PoolClient,
  name: string,
): Promise<Account | undefined> {
  const { rows } = await client.query<AccountRow>(`${accountSql} where a.name = $1`, [name])
  return rows[0] && accountOf(rows[0])
}

/** Returns an account with its balances. Throws when there is no such account. */
export async function readAccount(pool: Pool, accountId: string): Promise<Account> {
  const { rows } = await pool.query<AccountRow>({
    name: 'read-account',
    text: `${accountSql} where a.account_id = $1`,
    values: [accountId],
  })
  if (rows[0] === undefined) throw new Error(`Bug: there is no account ${accountId}`)
  return accountOf(rows[0])
}

/** Returns every account with its balances, sorted by name. */
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
    available, held, spent
  from account a join account_balance using (account_id)`

/**
 * Deposits credits: inserts the ledger row, then updates the balance. Returns the account with its new
 * balances. Returns `undefined` when there is no such account. Returns `beyond_limit` and changes nothing
 * when the account's credits would exceed `accountCreditsMax`.
 */
export async function topUp(
  pool: Pool,
  name: string,
  credits: number,
): Promise<Account | 'beyond_limit' | undefined> {
  return withTransaction<Account | 'beyond_limit' | undefined>(pool, async (client) => {
    const account = await findAccount(client, name)
    if (account === undefined) return undefined
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
  update balance set available = available + $2, deposited = deposited + $2
  where account_id = $1 and deposited + $2::bigint <= $3::bigint`

/**
 * Returns the models that an account may use, without models that no longer exist. Returns no `models` field
 * for null, which means every model.
 */
export function knownModels(models: readonly string[] | null): {
  readonly models?: readonly ModelId[]
} {
  return models === null ? {} : { models: models.filter(isModelId) }
}
