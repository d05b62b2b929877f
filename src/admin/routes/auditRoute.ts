import { adminRoute } from '../adminRoute.ts'
import { defined } from '../../domain/defined.ts'
import { listAudit } from '../../operations/audit.ts'
import { instantParameter } from '../../schema/instant.ts'
import { auditRow } from '../../schema/operators/operatorAudit.ts'
import { anyText, numberedQuery } from '../schemas/parameters.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'

export const listAuditRoute = adminRoute({
  method: 'GET',
  path: '/admin/v1/audit',
  id: 'listAudit',
  summary: 'List who changed what, newest first',
  input: numberedQuery.extend({
    target: anyText.optional(),
    actor: anyText.optional(),
    action: anyText.optional(),
    since: instantParameter.optional().meta({
      description: 'Only what happened at this time or later. ISO 8601 or Unix seconds.',
      example: '2026-01-01T00:00:00Z',
    }),
  }),
  answer: [200, 'Changes, also refused ones.', listOf(auditRow)],
  run: ({ operator, input }) => listAudit(operator, defined(input)),
})
