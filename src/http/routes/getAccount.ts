import { noFields } from '../../schema/extensionRequest.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { withQuery } from '../extensionRoute.ts'

/** `GET /v1/account`: answers with the caller's account and its credits. */
export function getAccount(parts: ApiParts): AccountHandler {
  return withQuery(noFields, async (context, caller) => {
    const account = await parts.reads.readAccount(caller.accountId)
    const { accountId, name, available, held, spent, models } = account
    sendJson(context, 200, {
      object: 'account',
      account_id: accountId,
      name,
      credits: { available, held, spent },
      models: models ?? null,
    })
    return undefined
  })
}
