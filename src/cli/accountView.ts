import type { Account } from '../domain/account.ts'
import type { Answer } from './context.ts'
import { fields } from './table.ts'

type ShownAccount = Omit<Account, 'createdAtMs'>

/** Design section 3, JSON fields of `account show`. */
export function accountJson({ accountId, name, available, held, spent }: ShownAccount) {
  return { account_id: accountId, name, available, held, spent }
}

/** One account: five fields in JSON, its models besides for people. */
export function accountAnswer(account: ShownAccount): Answer {
  const { accountId, name, models, available, held, spent } = account
  return {
    json: accountJson(account),
    text: fields({
      account: name,
      id: accountId,
      models: models?.join(', ') ?? 'all',
      available,
      held,
      spent,
    }),
  }
}
