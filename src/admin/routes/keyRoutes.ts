import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import { budgetForm, parseBudget } from '../../domain/accounts/budget.ts'
import { defined } from '../../domain/defined.ts'
import * as keys from '../../operations/keys.ts'
import { key, newKey } from '../../schema/operators/operatorKeys.ts'
import { anyText } from '../schemas/parameters.ts'
import { idForms } from '../../domain/ids.ts'
import { pageQuery } from '../../schema/queries.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'

const dayMs = 86_400_000
const daysMax = 36_500

const ofAccount = z.strictObject({
  name: anyText.meta({ description: 'The name of the account.' }),
})
const ofKey = z.strictObject({
  key_id: z
    .string()
    .regex(idForms.key_id.pattern)
    .meta({ description: 'The id of a key.', example: 'key_8xKQm2vT0aYc4hLd' }),
})

const budget = z
  .string()
  .transform((text, context) => {
    const parsed = parseBudget(text)
    if (parsed !== undefined) return parsed
    context.addIssue({ code: 'custom', message: budgetForm })
    return z.NEVER
  })
  .meta({ description: 'Credits per period, in UTC.', example: '5000/day' })

export const keyRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/accounts/{name}/keys',
    id: 'listKeys',
    summary: 'List the keys of an account, newest first',
    params: ofAccount,
    input: pageQuery('key_id'),
    answer: [200, 'Keys, also revoked and expired ones.', listOf(key)],
    run: ({ operator, params, input }) =>
      keys.listAccountKeys(operator, { account: params.name, ...defined(input) }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/accounts/{name}/keys',
    id: 'createKey',
    summary: 'Make an API key',
    params: ofAccount,
    input: z.strictObject({
      expires_days: z
        .number()
        .positive()
        .max(daysMax)
        .optional()
        .meta({ description: 'Absent: never. 0.5 is twelve hours.', example: 90 }),
      budget: budget.optional(),
    }),
    answer: [201, 'The key and its secret.', newKey],
    run: ({ operator, params, input: { expires_days: days, budget } }) => {
      const expiresInMs = days && Math.round(days * dayMs)
      return keys.issueKey(operator, { account: params.name, ...defined({ expiresInMs, budget }) })
    },
  }),
  adminRoute({
    method: 'PATCH',
    path: '/admin/v1/keys/{key_id}',
    id: 'setKeyBudget',
    summary: 'Set or remove the budget of a key',
    description: 'What the present period holds or has spent counts from the start.',
    params: ofKey,
    input: z.strictObject({ budget: budget.nullable() }),
    answer: [200, 'The key.', key],
    run: ({ operator, params, input }) =>
      keys.setKeyBudget(operator, { keyId: params.key_id, ...defined(input) }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/keys/{key_id}/revoke',
    id: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'It is refused from the next request on. A revoked key keeps its time of revocation.',
    params: ofKey,
    answer: [200, 'The key.', key],
    run: ({ operator, params }) => keys.revokeApiKey(operator, params.key_id),
  }),
]
