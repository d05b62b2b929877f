import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../context.ts'
import { succeed } from '../../domain/result.ts'
import { noFields } from '../../schema/extensionRequest.ts'

const verification = z
  .object({
    ok: z.boolean(),
    violations: z.array(
      z.object({ kind: z.string(), account_id: z.string(), task_id: z.string().optional() }),
    ),
  })
  .meta({ id: 'LedgerVerification', description: 'What does not agree.' })

const tag = 'Money'

export const moneyRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'POST',
    path: '/admin/v1/ledger/verify',
    id: 'verifyLedger',
    tag,
    summary: 'Check that ledger, balances and tasks agree',
    description: 'Reads the whole ledger, which may take minutes. Changes nothing.',
    params: noFields,
    input: noFields,
    answer: [200, 'What does not agree.', verification],
    run: async ({ operations }) => succeed(await operations.ledger.verify()),
  }),
]
