import { limitsJson } from '../../domain/accounts/limits.ts'
import { account } from '../../schema/answers/account.ts'
import { sendJson } from '../answers/sendBody.ts'
import { extensionRoute } from '../extensionRoute.ts'
import { json } from '../route.ts'

export const getAccountRoute = extensionRoute({
  method: 'GET',
  path: '/v1/account',
  id: 'getAccount',
  summary: 'Read the account of the API key',
  answers: { 200: { description: 'The account and its credits.', content: json(account) } },
  handler: (parts) => async (context, caller) => {
    const account = await parts.reads.readAccount(caller.accountId)
    const { accountId, name, available, held, spent, models, limits } = account
    sendJson(context, 200, {
      object: 'account',
      account_id: accountId,
      name,
      credits: { available, held, spent },
      models: models ?? null,
      limits: limitsJson(limits),
    })
    return undefined
  },
})
