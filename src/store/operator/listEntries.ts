import type { Pool } from 'pg'
import { isoSql } from '../isoSql.ts'

export const entryKinds = ['deposit', 'withdraw', 'hold', 'settle', 'release'] as const

/** One movement of credits, with the names of the JSON. `created_at` is ISO 8601. */
export type Entry = {
  readonly entry_id: number
  readonly created_at: string
  /** The name of the account. */
  readonly account: string
  readonly kind: (typeof entryKinds)[number]
  readonly credits: number
  readonly task_id: string | null
  readonly key_id: string | null
  readonly model: string | null
  readonly channel: string | null
  readonly topup_id: string | null
}

/** Instants are ISO 8601 texts with microseconds. */
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
