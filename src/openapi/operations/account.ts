import { z } from 'zod'
import { queryErrors } from '../errorCatalog.ts'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'
import { account } from '../../schema/answers/account.ts'
import { model, modelList } from '../../schema/answers/models.ts'
import { usage } from '../../schema/answers/usage.ts'
import { usageQuery } from '../../schema/usageQuery.ts'
import { modelIds } from '../../domain/models/models.ts'

const shared = {
  tag: 'Account',
  extension: true,
  access: 'account',
  envelope: 'full',
} as const satisfies Partial<Operation>

export const getAccount: Operation = {
  ...shared,
  method: 'get',
  path: '/v1/account',
  id: 'getAccount',
  summary: 'Read the account of the API key',
  answers: {
    200: {
      description: 'The account and its credits.',
      content: json(account, {
        account: {
          object: 'account',
          account_id: 'acct_0123456789ABCDEFGHIJKLMN',
          name: 'alice',
          credits: { available: 9_368, held: 211, spent: 421 },
          models: null,
        },
      }),
    },
  },
  errors: queryErrors,
}

const modelExample = {
  id: 'familyb-image-2-vip',
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'darkroom',
  family: 'B',
  actions: ['generate', 'edit'],
  sizes: ['1024x1024', '2048x2048', '3840x2160'],
  aspect_ratios: null,
  qualities: ['low', 'medium', 'high', 'auto'],
  prices: [
    { size: '1024x1024', quality: 'low', credits: 6, credits_per_input_image: 8 },
    { credits: 211, credits_per_input_image: 8 },
  ],
}

export const listModels: Operation = {
  ...shared,
  method: 'get',
  path: '/v1/models',
  id: 'listModels',
  summary: 'List the models that the account may use, with their prices',
  answers: {
    200: {
      description: 'Every model that the account may use.',
      content: json(modelList, { models: { object: 'list', data: [modelExample] } }),
    },
  },
  errors: queryErrors,
}

export const getModel: Operation = {
  ...shared,
  method: 'get',
  path: '/v1/models/{model}',
  id: 'getModel',
  summary: 'Read one model with its prices',
  request: { path: z.object({ model: z.enum(modelIds) }) },
  answers: { 200: { description: 'The model.', content: json(model, { model: modelExample }) } },
  errors: [...queryErrors, 'unknown_model'],
}

export const getUsage: Operation = {
  ...shared,
  method: 'get',
  path: '/v1/usage',
  id: 'getUsage',
  summary: 'Count tasks and credits of a period',
  description:
    'Tasks count at the moment of their end, in `[start_time, end_time)`; days are in UTC. `credits` is the sum of what was charged, to the credit, and does not change when tasks are deleted. A period is final 60 seconds after its end. `Accept: text/csv` returns the rows as CSV.',
  request: { query: usageQuery },
  answers: {
    200: {
      description: 'One row for each group, by day, model and key.',
      content: {
        ...json(usage, {
          'by day and model': {
            object: 'usage',
            start_time: '2026-01-01T00:00:00Z',
            end_time: '2026-02-01T00:00:00Z',
            data: [
              {
                start_time: '2026-01-01T00:00:00Z',
                model: 'familyb-image-2-vip',
                tasks: { succeeded: 2, failed: 1 },
                credits: 422,
              },
            ],
            total: { tasks: { succeeded: 2, failed: 1 }, credits: 422 },
          },
        }),
        'text/csv': {
          schema: { type: 'string' },
          examples: {
            'by day and model':
              'start_time,model,succeeded,failed,credits\r\n2026-01-01T00:00:00Z,familyb-image-2-vip,2,1,422\r\n',
          },
        },
      },
    },
  },
  errors: queryErrors,
}
