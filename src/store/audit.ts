import type { ClientBase, Pool } from 'pg'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { auditRow } from '../schema/operators/audit.ts'
import { isoSql } from './isoSql.ts'

/** One change by an operator, or the refusal of one. */
export type AuditJson = AnswerOf<typeof auditRow>

/** `params` must contain no secret. */
export type AuditEntry = Omit<AuditJson, 'audit_id' | 'at'>

/** A field that is absent matches every row. */
export type AuditFilter = {
  readonly target?: string
  readonly actor?: string
  readonly action?: string
  /** An instant as ISO 8601 text. */
  readonly since?: string
  /** Only rows before the one with this id. */
  readonly after?: number
  readonly limit: number
}

/** Adds a row to the audit. Call it in the transaction of the change. */
export async function insertAudit(client: ClientBase, entry: AuditEntry): Promise<void> {
  const { actor, action, target, params, outcome } = entry
  await client.query(
    'insert into audit (actor, action, target, params, outcome) values ($1, $2, $3, $4, $5)',
    [actor, action, target, JSON.stringify(params), outcome],
  )
}

/** Returns the rows that match the filter, newest first. */
export async function readAudit(pool: Pool, filter: AuditFilter): Promise<readonly AuditJson[]> {
  const { target, actor, action, since, after, limit } = filter
  const { rows } = await pool.query<AuditJson>(readSql, [
    target ?? null,
    actor ?? null,
    action ?? null,
    since ?? null,
    after ?? null,
    limit,
  ])
  return rows
}

const readSql = `
  select audit_id, ${isoSql('at', 'MS')} as at, actor, action, target, params, outcome
  from audit
  where ($1::text is null or target = $1) and ($2::text is null or actor = $2)
    and ($3::text is null or action = $3)
    and ($4::timestamptz is null or at >= $4) and ($5::bigint is null or audit_id < $5)
  order by audit_id desc limit $6`
