import type { Pool, PoolClient } from 'pg'
import type { LimitsState } from '../../domain/accounts/accountLimits.ts'
import { limitsJson } from '../../domain/accounts/accountLimits.ts'
import type { ListPage } from '../../domain/lists/list.ts'
import { mapPage } from '../../domain/lists/list.ts'
import type { ModelId } from '../../domain/models/models.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { account } from '../../schema/operators/operatorAccounts.ts'
import { isoSql } from '../isoSql.ts'
import type { Page } from '../readPage.ts'
import { readPage } from '../readPage.ts'

/** An account and its balances, as operators see it. Credits are whole numbers. */
export type AccountJson = AnswerOf<typeof account>

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
    insert into ledger (account_id, kind, credits)
    select account_id, 'deposit', $4::bigint from created where $4::bigint > 0
  )
  insert into balance (account_id, available, deposited) select account_id, $4::bigint, $4::bigint from created`

/** Finds an account by its name and returns it with its balances. */
export async function findAccount(
  client: Pool | PoolClient,
  name: string,
): Promise<AccountJson | undefined> {
  const { rows } = await client.query<AccountRow>(`${accountSql} where name = $1`, [name])
  return rows[0] && accountOf(rows[0])
}

/** Returns an account with its balances. Throws when there is no such account. */
export async function readAccount(pool: Pool, accountId: string): Promise<AccountJson> {
  const { rows } = await pool.query<AccountRow>({
    name: 'read-account',
    text: `${accountSql} where account_id = $1`,
    values: [accountId],
  })
  if (rows[0] === undefined) throw new Error(`Bug: there is no account ${accountId}`)
  return accountOf(rows[0])
}

export type AccountPage = Page & {
  /** How the names begin. Absent: all. */
  readonly search?: string
}

/** Returns accounts with their balances, newest first. */
export async function listAccounts(
  pool: Pool,
  { search, ...page }: AccountPage,
): Promise<ListPage<AccountJson>> {
  const list = await readPage<AccountRow>(pool, page, {
    table: 'account',
    order: ['account.created_at', 'account_id'],
    direction: 'desc',
    filter: [['starts_with(name, ?)', search]],
    select: (where, newest) => `${accountSql} ${where} ${newest}`,
  })
  return mapPage(list, accountOf)
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
  select account_id, name, available, held, spent, models, limits, alert_below, ${isoSql('created_at', 'MS')} as created_at
  from account join account_balance using (account_id)`

type AccountRow = Omit<AccountJson, 'limits'> & { readonly limits: LimitsState }

function accountOf({ limits, ...row }: AccountRow): AccountJson {
  return { ...row, limits: limitsJson(limits) }
}

/** What a topup reads of an account under the lock of its balance. */
type LockedBalance = {
  readonly accountId: string
  readonly available: number
  readonly deposited: number
  /** What the topup with this id has moved before. Null: nothing. */
  readonly moved: number | null
}

/**
 * Locks the balance of an account, so that topups of one account wait for each other. Must run in a transaction. Returns
 * `undefined` when there is no such account.
 */
export async function lockBalance(
  client: PoolClient,
  name: string,
  topupId?: string,
): Promise<LockedBalance | undefined> {
  await client.query(
    'select from balance join account using (account_id) where name = $1 for update of balance',
    [name],
  )
  // Read after the lock, so that a topup that ended meanwhile is seen.
  const { rows } = await client.query<LockedBalance>(balanceSql, [name, topupId ?? null])
  return rows[0]
}

const balanceSql = `
  select account_id as "accountId", available, deposited, (
    select case kind when 'withdraw' then -credits else credits end
    from ledger where ledger.account_id = balance.account_id and topup_id = $2) as moved
  from balance join account using (account_id) where name = $1`

/**
 * Moves credits into an account, or takes back available ones when `credits` is negative. A deposit arms the alert. Call
 * it under `lockBalance`.
 */
export async function moveCredits(
  client: PoolClient,
  accountId: string,
  credits: number,
  topupId?: string,
): Promise<void> {
  await client.query(moveSql, [accountId, credits, topupId ?? null])
}

const moveSql = `
  with entry as (
    insert into ledger (account_id, kind, credits, topup_id)
    values ($1, case when $2::bigint > 0 then 'deposit' else 'withdraw' end, abs($2::bigint), $3)
  )
  update balance set available = available + $2, deposited = deposited + $2,
    alert_armed = alert_armed or ($2 > 0 and alert_below is not null)
  where account_id = $1`
