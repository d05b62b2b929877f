import type { ClientBase, Pool } from 'pg'
import type { ListPage } from '../domain/lists/list.ts'
import type { Since } from '../domain/lists/since.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { auditRow } from '../schema/operators/operatorAudit.ts'
import { isoSql } from './isoSql.ts'
import type { Page } from './readPage.ts'
import { readPage, sinceCondition } from './readPage.ts'

/** One change by an operator, or the refusal of one. */
export type AuditJson = AnswerOf<typeof auditRow>

/** `params` must contain no secret. */
export type AuditEntry = Omit<AuditJson, 'audit_id' | 'at'>

/** A field that is absent matches every row. `after` is the id of a row. */
export type AuditFilter = Page & {
  readonly target?: string
  readonly actor?: string
  readonly action?: string
  readonly since?: Since
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
export async function readAudit(
  pool: Pool,
  { target, actor, action, since, ...page }: AuditFilter,
): Promise<ListPage<AuditJson>> {
  return readPage<AuditJson>(pool, page, {
    table: 'audit',
    order: ['audit_id'],
    direction: 'desc',
    filter: [
      ['target = ?', target],
      ['actor = ?', actor],
      ['action = ?', action],
      sinceCondition('at', since),
    ],
    select: (where, newest) =>
      `select audit_id, ${isoSql('at', 'MS')} as at, actor, action, target, params, outcome
         from audit ${where} ${newest}`,
  })
}
