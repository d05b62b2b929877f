import type { Pool } from 'pg'
import type { ListPage } from '../../domain/lists/list.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { entry } from '../../schema/operators/operatorMoney.ts'
import { isoSql } from '../isoSql.ts'
import type { Conditions, Page } from '../readPage.ts'
import { readPage } from '../readPage.ts'

/** One movement of credits. */
export type Entry = AnswerOf<typeof entry>

/** Instants are ISO 8601 texts. `after` is the id of an entry. */
export type EntryFilter = Page & {
  readonly accountId: string
  readonly startTime?: string
  /** The end of the period, which is excluded. */
  readonly endTime?: string
}

/** Returns the entries of an account in a period, newest first. */
export async function listEntries(
  pool: Pool,
  { accountId, startTime, endTime, ...page }: EntryFilter,
): Promise<ListPage<Entry>> {
  const ofAccount: Conditions = [['account_id = ?', accountId]]
  return readPage<Entry>(pool, page, {
    table: 'ledger',
    order: ['ledger.created_at', 'entry_id'],
    direction: 'desc',
    scope: ofAccount,
    filter: [
      ...ofAccount,
      ['ledger.created_at >= ?::timestamptz', startTime],
      ['ledger.created_at < ?::timestamptz', endTime],
    ],
    select: (where, newest) => `
        select entry_id, ${isoSql('ledger.created_at', 'MS')} as created_at, account.name as account, kind,
          credits, task_id, key_id, model, channel, topup_id
        from ledger join account using (account_id) ${where} ${newest}`,
  })
}
