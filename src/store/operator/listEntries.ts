import type { Pool } from 'pg'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { entry } from '../../schema/operators/money.ts'
import { isoSql } from '../isoSql.ts'

/** One movement of credits. */
export type Entry = AnswerOf<typeof entry>

/** Instants are ISO 8601 texts. */
export type EntryFilter = {
  readonly accountId: string
  readonly startTime?: string
  /** The end of the period, which is excluded. */
  readonly endTime?: string
  /** The id of an entry. Only older entries are returned. */
  readonly after?: number
  /** A whole number. */
  readonly limit: number
}

/**
 * Returns the entries of an account in a period, newest first: `limit` at most. Returns `unknown_after` when the account
 * has no entry `after`.
 */
export async function listEntries(
  pool: Pool,
  { accountId, startTime, endTime, after, limit }: EntryFilter,
): Promise<readonly Entry[] | 'unknown_after'> {
  if (after !== undefined) {
    const { rowCount } = await pool.query({
      name: 'entry-exists',
      text: 'select from ledger where entry_id = $1 and account_id = $2',
      values: [after, accountId],
    })
    if (rowCount === 0) return 'unknown_after'
  }
  const { rows } = await pool.query<Entry>({
    text: `
      select entry_id, ${isoSql('ledger.created_at', 'MS')} as created_at, account.name as account, kind,
        credits, task_id, key_id, model, channel, topup_id
      from ledger join account using (account_id)
      where account_id = $1
        and ledger.created_at >= coalesce($2::timestamptz, '-infinity')
        and ledger.created_at < coalesce($3::timestamptz, 'infinity')
        ${after === undefined ? '' : `and (ledger.created_at, entry_id) < (select created_at, entry_id from ledger where entry_id = $4)`}
      order by ledger.created_at desc, entry_id desc limit ${Math.trunc(limit)}`,
    values: [
      accountId,
      startTime ?? null,
      endTime ?? null,
      ...(after === undefined ? [] : [after]),
    ],
  })
  return rows
}
