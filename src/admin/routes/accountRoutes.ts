import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import {
  accountNamePattern,
  depositCreditsMax,
  topupIdPattern,
} from '../../domain/accounts/account.ts'
import {
  liveTasksLimitMax,
  requestsLimitMax,
  requestsPeriods,
} from '../../domain/accounts/accountLimits.ts'
import { defined } from '../../domain/defined.ts'
import * as accounts from '../../operations/accounts.ts'
import { account, models, topup } from '../../schema/operators/operatorAccounts.ts'
import { anyText } from '../schemas/parameters.ts'
import { pageQuery } from '../../schema/queries.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'

const ofName = z.strictObject({ name: anyText.meta({ description: 'The name of the account.' }) })

const limits = z
  .strictObject({
    requests: z
      .strictObject({
        limit: z.int().min(1).max(requestsLimitMax),
        period: z.enum(requestsPeriods),
      })
      .nullable()
      .optional(),
    live_tasks: z
      .strictObject({ limit: z.int().min(1).max(liveTasksLimitMax) })
      .nullable()
      .optional(),
  })
  .transform(({ requests, live_tasks: liveTasks }) => ({
    requests,
    liveTasks: liveTasks === null ? null : liveTasks?.limit,
  }))
  .optional()
  .meta({ description: 'Null: no limit. What is absent stays as it is.' })

export const accountRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/accounts',
    id: 'listAccounts',
    summary: 'List accounts, newest first',
    input: pageQuery('account_id').extend({
      search: anyText.optional().meta({ description: 'How the names begin.' }),
    }),
    answer: [200, 'Accounts.', listOf(account)],
    run: ({ operator, input }) => accounts.listAccounts(operator, defined(input)),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/accounts',
    id: 'createAccount',
    summary: 'Create an account',
    input: z.strictObject({
      name: z.string().regex(accountNamePattern, {
        error: '1 to 100 letters, digits and . _ @ + -, the first one a letter or digit',
      }),
      credits: z.int().min(0).max(depositCreditsMax).default(0),
      models: models.optional(),
      limits,
    }),
    answer: [201, 'The account.', account],
    refusals: ['account_exists'],
    run: ({ operator, input }) => accounts.createAccount(operator, defined(input)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/accounts/{name}',
    id: 'getAccount',
    summary: 'Read an account',
    params: ofName,
    answer: [200, 'The account.', account],
    run: ({ operator, params }) => accounts.showAccount(operator, params.name),
  }),
  adminRoute({
    method: 'PATCH',
    path: '/admin/v1/accounts/{name}',
    id: 'changeAccount',
    summary: 'Set the models, the limits or the alert of an account',
    description: 'What is absent stays as it is. Tasks that are accepted already are made.',
    params: ofName,
    input: z.strictObject({
      models: models.nullable().optional(),
      limits,
      alert_below: z
        .int()
        .min(1)
        .max(depositCreditsMax)
        .nullable()
        .optional()
        .meta({
          description:
            'Webhooks get `account.balance_low` once when fewer credits are available, at once if they are. ' +
            'Setting it and each topup arm it. Null: none.',
        }),
    }),
    answer: [200, 'The account.', account],
    run: ({ operator, params, input: { alert_below: alertBelow, ...input } }) =>
      accounts.changeAccount(operator, { ...params, ...input, alertBelow }),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/accounts/{name}/topups',
    id: 'topUpAccount',
    summary: 'Move credits into an account, or take some back',
    description:
      'The same `topup_id` again moves nothing and gets the same answer, so a lost answer is no reason to fear.',
    params: ofName,
    input: z.strictObject({
      topup_id: z
        .string()
        .regex(topupIdPattern, { error: '1 to 100 visible ASCII characters without spaces' })
        .meta({ description: 'Your name for this movement.', example: 'invoice-2026-117' }),
      credits: z
        .int()
        .min(-depositCreditsMax)
        .max(depositCreditsMax)
        .refine((value) => value !== 0, { error: 'a whole number other than 0' })
        .meta({ description: 'Below 0: taken back, as far as they are available.', example: 5000 }),
    }),
    answer: [200, 'The movement, and the account after it.', topup],
    refusals: ['credits_limit_exceeded', 'insufficient_credits', 'idempotency_conflict'],
    run: ({ operator, params, input }) =>
      accounts.topUpAccount(operator, {
        ...params,
        credits: input.credits,
        topupId: input.topup_id,
      }),
  }),
]
