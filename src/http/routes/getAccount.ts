import { limitsJson } from '../../domain/accounts/limits.ts'
import { succeed } from '../../domain/result.ts'
import { account } from '../../schema/answers/account.ts'
import { jsonRoute } from '../extensionRoute.ts'

export const getAccountRoute = jsonRoute({
  method: 'GET',
  path: '/v1/account',
  id: 'getAccount',
  summary: 'Read the account of the API key',
  answer: [200, 'The account and its credits.', account],
  run: async ({ reads }, { caller }) => {
    const account = await reads.readAccount(caller.accountId)
    const { accountId, name, available, held, spent, models, limits } = account
    return succeed({
      object: 'account',
      account_id: accountId,
      name,
      credits: { available, held, spent },
      models: models ?? null,
      limits: limitsJson(limits),
    })
  },
})
