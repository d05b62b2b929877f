import { z } from 'zod'

export const auditRow = z
  .object({
    audit_id: z.int(),
    at: z.iso.datetime(),
    actor: z
      .string()
      .meta({ description: '`cli:USER@HOST`, `cli:NAME` of DARKROOM_ACTOR, or `admin:KEY_ID`.' }),
    action: z.string().meta({ description: 'Such as `account.topup`.' }),
    target: z.string(),
    params: z.record(z.string(), z.unknown()),
    outcome: z.string().meta({ description: '`done`, or the code of the refusal.' }),
  })
  .meta({ id: 'AuditRow', description: 'A change that somebody made or was refused.' })
