import { defined } from '../domain/defined.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accounts.ts'
import type { Entry, EntryFilter } from '../store/operator/listEntries.ts'
import { listEntries } from '../store/operator/listEntries.ts'
import * as store from '../store/accounts/verifyLedger.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { verification } from '../schema/operators/money.ts'
import { noAccount } from './accounts.ts'
import { csvOf } from '../domain/csv.ts'
import type { List, OperationDeps, OperationFailure } from './operation.ts'
import { invalidValue, listOf, pageOf } from './operation.ts'

/** `account` is a name. */
export type LedgerInput = Omit<EntryFilter, 'accountId'> & { readonly account: string }

/** Limit for the lines of one CSV. They are in memory, about 30 MB. */
const ledgerCsvRowsMax = 100_000

const kinds = ['deposit', 'withdraw', 'hold', 'settle', 'release'] satisfies Entry['kind'][]

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
  deps: Pick<OperationDeps, 'pool'>,
  input: LedgerInput,
): Promise<Result<List<Entry>, OperationFailure>> {
  const read = await readEntries(deps, pageOf(input))
  return read.ok ? succeed(listOf(read.value, input.limit)) : read
}

/**
 * Returns all movements of an account's credits in a period as CSV, newest first. The last lines have the sum of each
 * kind. Refused when the period has more than `ledgerCsvRowsMax`.
 */
export async function exportLedger(
  deps: Pick<OperationDeps, 'pool'>,
  input: Omit<LedgerInput, 'after' | 'limit'>,
): Promise<Result<string, OperationFailure>> {
  const read = await readEntries(deps, { ...input, limit: ledgerCsvRowsMax + 1 })
  if (!read.ok) return read
  if (read.value.length > ledgerCsvRowsMax) {
    const message = `The period has more than ${ledgerCsvRowsMax} entries. Ask for a shorter one.`
    return fail(invalidValue('start_time', message))
  }
  const sums = new Map<string, number>()
  for (const { kind, credits } of read.value) sums.set(kind, (sums.get(kind) ?? 0) + credits)
  return succeed(
    csvOf([
      columns,
      ...read.value.map((entry) => columns.map((column) => entry[column])),
      ...kinds.map((kind) => ['total', '', input.account, kind, sums.get(kind) ?? 0]),
    ]),
  )
}

async function readEntries(
  { pool }: Pick<OperationDeps, 'pool'>,
  { account, startTime, endTime, after, limit }: LedgerInput,
): Promise<Result<readonly Entry[], OperationFailure>> {
  const owner = await findAccount(pool, account)
  if (owner === undefined) return fail(noAccount(account))
  const { accountId } = owner
  const entries = await listEntries(pool, {
    accountId,
    limit,
    ...defined({ startTime, endTime, after }),
  })
  if (entries !== 'unknown_after') return succeed(entries)
  return fail(invalidValue('after', 'The account has no entry with this id.'))
}

/** Checks that deposits, ledger, balances and tasks agree. Reads all of the ledger, which may take minutes. */
export async function verifyLedger({
  pool,
}: Pick<OperationDeps, 'pool'>): Promise<AnswerOf<typeof verification>> {
  const violations = await store.verifyLedger(pool)
  return { ok: violations.length === 0, violations }
}
