import type { Pool, PoolClient } from 'pg'
import type { Account } from '../../domain/accounts/account.ts'
import { accountCreditsMax } from '../../domain/accounts/account.ts'
import { defined } from '../../domain/defined.ts'
import type { ModelId } from '../../domain/models/models.ts'
import type { Row } from '../row.ts'

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
export async function createAccount(
  client: Pool | PoolClient,
  account: NewAccount,
): Promise<boolean> {
  const { accountId, name, models, credits } = account
  const { rowCount } = await client.query(createSql, [accountId, name, models ?? null, credits])
  return rowCount === 1
}

const createSql = `
  with created as (
    insert into account (account_id, name, models) values ($1, $2, $3)
    on conflict (name) do nothing
    returning account_id
  ), deposit as (
    insert into ledger (account_id, kind, debit, credit, credits)
    select account_id, 'deposit', 'funding', 'available', $4::bigint from created where $4::bigint > 0
  )
  insert into balance (account_id, available, deposited) select account_id, $4::bigint, $4::bigint from created`

/** Finds an account by its name and returns it with its balances. */
export async function findAccount(
  client: Pool | PoolClient,
  name: string,
): Promise<Account | undefined> {
  const { rows } = await client.query<Row<Account>>(`${accountSql} where a.name = $1`, [name])
  return rows[0] && defined(rows[0])
}

/** Returns an account with its balances. Throws when there is no such account. */
export async function readAccount(pool: Pool, accountId: string): Promise<Account> {
  const { rows } = await pool.query<Row<Account>>({
    name: 'read-account',
    text: `${accountSql} where a.account_id = $1`,
    values: [accountId],
  })
  if (rows[0] === undefined) throw new Error(`Bug: there is no account ${accountId}`)
  return defined(rows[0])
}

/** A field that is absent matches every account. */
export type AccountPage = {
  /** How the names begin. */
  readonly search?: string
  /** Only accounts whose names sort after this one. */
  readonly after?: string
  /** Absent: all. */
  readonly limit?: number
}

/** Returns accounts with their balances, sorted by name. */
export async function listAccounts(
  pool: Pool,
  { search, after, limit }: AccountPage = {},
): Promise<readonly Account[]> {
  const { rows } = await pool.query<Row<Account>>(
    `${accountSql} where ($1::text is null or starts_with(a.name, $1)) and ($2::text is null or a.name > $2)
     order by a.name limit $3`,
    [search ?? null, after ?? null, limit ?? null],
  )
  return rows.map(defined)
}

/** Sets the models that an account may use. Absent: every model. */
export async function setModels(
  client: Pool | PoolClient,
  name: string,
  models: readonly ModelId[] | undefined,
): Promise<void> {
  await client.query('update account set models = $2 where name = $1', [name, models ?? null])
}

const accountSql = `
  select a.account_id as "accountId", a.name, a.models,
    (extract(epoch from a.created_at) * 1000)::float8 as "createdAtMs",
    available, held, spent, limits
  from account a join account_balance using (account_id)`

/**
 * Why `topUp` moves nothing.
 * - `beyond_limit`: the account's credits would exceed `accountCreditsMax`.
 * - `not_available`: fewer credits are available than should be taken back.
 * - `other_credits`: the topup with this id moved other credits.
 */
export type TopUpRefusal =
  | { readonly refused: 'beyond_limit' }
  | { readonly refused: 'not_available'; readonly available: number }
  | { readonly refused: 'other_credits'; readonly credits: number }

/**
 * Moves credits into an account, or takes back available ones when `credits` is negative: updates the balance and
 * inserts the ledger row. Must run in a transaction, because the lock of the balance makes topups of one account wait
 * for each other. A topup whose id the account has already had moves nothing. Returns the account with its balances, or
 * `undefined` when there is no such account.
 */
export async function topUp(
  client: PoolClient,
  name: string,
  credits: number,
  topupId?: string,
): Promise<Account | TopUpRefusal | undefined> {
  const { rows } = await client.query<BalanceRow>(lockSql, [name])
  const [balance] = rows
  if (balance === undefined) return undefined
  const { accountId, available, deposited } = balance
  const before = await client.query<{ credits: number }>(topupSql, [accountId, topupId ?? null])
  const moved = before.rows[0]?.credits
  if (moved !== undefined && moved !== credits) return { refused: 'other_credits', credits: moved }
  if (moved === undefined) {
    if (deposited + credits > accountCreditsMax) return { refused: 'beyond_limit' }
    if (available + credits < 0) return { refused: 'not_available', available }
    await client.query(moveSql, [accountId, credits, topupId ?? null])
  }
  return findAccount(client, name)
}

type BalanceRow = {
  readonly accountId: string
  readonly available: number
  readonly deposited: number
}

const lockSql = `
  select account_id as "accountId", available, deposited
  from balance join account using (account_id) where name = $1 for update of balance`

const topupSql = `
  select case kind when 'withdraw' then -credits else credits end as credits
  from ledger where account_id = $1 and topup_id = $2`

const moveSql = `
  with entry as (
    insert into ledger (account_id, kind, debit, credit, credits, topup_id)
    select $1, kind, debit, credit, abs($2::bigint), $3
    from (values ('deposit', 'funding', 'available'), ('withdraw', 'available', 'funding')) as
      movement (kind, debit, credit)
    where kind = case when $2::bigint > 0 then 'deposit' else 'withdraw' end
  )
  update balance set available = available + $2, deposited = deposited + $2 where account_id = $1`
