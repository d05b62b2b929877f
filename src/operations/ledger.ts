import type { List } from '../domain/lists/list.ts'
import { succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accountRows.ts'
import type { Entry, EntryFilter } from '../store/operator/listEntries.ts'
import { listEntries } from '../store/operator/listEntries.ts'
import * as store from '../store/accounts/verifyLedger.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { verification } from '../schema/operators/operatorMoney.ts'
import { accountNamed } from './accounts.ts'
import { csvOf } from '../domain/lists/csv.ts'
import type { Done, OperationDeps } from './operation.ts'
import { invalidValue, listed, missing } from './operation.ts'

/** `account` is a name. */
export type LedgerInput = Omit<EntryFilter, 'accountId'> & { readonly account: string }

/** Limit for the lines of one CSV. They are in memory, about 30 MB. */
const ledgerCsvRowsMax = 100_000

const kinds = [
  'deposit',
  'withdraw',
  'hold',
  'settle',
  'refund',
  'release',
] satisfies Entry['kind'][]

const columns = [
  'entry_id',
  'created_at',
  'account',
  'kind',
  'credits',
  'task_id',
  'key_id',
  'model',
  'channel',
  'topup_id',
] as const

/** Lists the movements of an account's credits, newest first. */
export async function listLedger(
  { pool }: Pick<OperationDeps, 'pool'>,
  { account, ...filter }: LedgerInput,
): Done<List<Entry>> {
  const owner = await findAccount(pool, account)
  if (owner === undefined) return missing(accountNamed(account))
  return listed(await listEntries(pool, { ...filter, accountId: owner.account_id }))
}

/**
 * Returns all movements of an account's credits in a period as CSV, newest first. The last lines have the sum of each
 * kind. Refused when the period has more than `ledgerCsvRowsMax`.
 */
export async function exportLedger(
  deps: Pick<OperationDeps, 'pool'>,
  input: Omit<LedgerInput, 'after' | 'limit'>,
): Done<string> {
  const read = await listLedger(deps, { ...input, limit: ledgerCsvRowsMax })
  if (!read.ok) return read
  const { data, has_more: isTooLong } = read.value
  if (isTooLong) {
    const message = `The period has more than ${ledgerCsvRowsMax} entries. Ask for a shorter one.`
    return invalidValue('start_time', message)
  }
  const sums = new Map<string, number>()
  for (const { kind, credits } of data) sums.set(kind, (sums.get(kind) ?? 0) + credits)
  return succeed(
    csvOf([
      columns,
      ...data.map((entry) => columns.map((column) => entry[column])),
      ...kinds.map((kind) => ['total', '', input.account, kind, sums.get(kind) ?? 0]),
    ]),
  )
}

/** Checks that deposits, ledger, balances and tasks agree. Reads all of the ledger, which may take minutes. */
export async function verifyLedger({
  pool,
}: Pick<OperationDeps, 'pool'>): Promise<AnswerOf<typeof verification>> {
  const violations = await store.verifyLedger(pool)
  return { ok: violations.length === 0, violations }
}
