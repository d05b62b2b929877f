import { queryErrors } from '../errorAnswers.ts'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'
import { account } from '../../schema/answers/account.ts'

const shared = {
  tag: 'Account',
  extension: true,
  access: 'account',
  envelope: 'full',
} as const satisfies Partial<Operation>

/** `GET /v1/account`. */
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
