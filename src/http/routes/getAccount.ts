import { succeed } from '../../domain/result.ts'
import { account } from '../../schema/answers/accountAnswer.ts'
import { jsonRoute } from '../extensionRoute.ts'

export const getAccountRoute = jsonRoute({
  method: 'GET',
  path: '/v1/account',
  id: 'getAccount',
  summary: 'Read the account of the API key',
  answer: [200, 'The account and its credits.', account],
  run: async ({ reads }, { caller }) => {
    const account = await reads.readAccount(caller.accountId)
    const { account_id, name, available, held, spent, models, limits } = account
    const credits = { available, held, spent }
    return succeed({ object: 'account', account_id, name, credits, models, limits })
  },
})
