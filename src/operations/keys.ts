import type { Budget } from '../domain/accounts/budget.ts'
import { budgetText } from '../domain/accounts/budget.ts'
import { defined } from '../domain/defined.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accounts.ts'
import type { KeyJson, KeyPage } from '../store/accounts/apiKeys.ts'
import { createKey, listKeys, readKey, revokeKey } from '../store/accounts/apiKeys.ts'
import { setBudget } from '../store/accounts/budgets.ts'
import type { Pepper } from '../tasks/apiKeys.ts'
import { newKeyId, newSecret } from '../tasks/apiKeys.ts'
import { noAccount } from './accounts.ts'
import { audited } from './audit.ts'
import type { List, OperationDeps, OperationFailure } from './operation.ts'
import { listOf, pageOf, unknownAfter } from './operation.ts'

export type NewKey = {
  /** The name of the account. */
  readonly account: string
  readonly expiresInMs?: number
  readonly budget?: Budget
}

export type KeyDeps = OperationDeps & {
  /** Throws when there is none. */
  readonly pepper: () => Pepper
}

/** Makes an API key. Its secret is in the answer and nowhere else. */
export async function issueKey(
  deps: KeyDeps,
  { account, expiresInMs, budget }: NewKey,
): Promise<Result<KeyJson & { readonly secret: string }, OperationFailure>> {
  const pepper = deps.pepper()
  const keyId = newKeyId()
  const params = {
    key_id: keyId,
    ...defined({ expires_in_ms: expiresInMs, budget: budget && budgetText(budget) }),
  }
  return audited(deps, { action: 'key.create', target: account, params }, async (client) => {
    const owner = await findAccount(client, account)
    if (owner === undefined) return fail(noAccount(account))
    const { secret, ...hashed } = newSecret(pepper)
    const terms = defined({ expiresInMs, budget })
    const key = await createKey(client, { keyId, accountId: owner.accountId, ...hashed, ...terms })
    return succeed({ ...key, secret })
  })
}

/** Lists the keys of an account, oldest first. */
export async function listAccountKeys(
  { pool }: OperationDeps,
  { account, ...page }: KeyPage & { readonly account: string },
): Promise<Result<List<KeyJson>, OperationFailure>> {
  const found = await findAccount(pool, account)
  if (found === undefined) return fail(noAccount(account))
  const { after } = page
  if (after !== undefined && (await readKey(pool, after))?.account !== account) {
    return fail(unknownAfter)
  }
  const keys = await listKeys(pool, found.accountId, pageOf(page))
  return succeed(listOf(keys, page.limit))
}

/** Sets or removes the budget of a key. What the present period holds or has spent counts from the start. */
export async function setKeyBudget(
  deps: OperationDeps,
  { keyId, budget }: { readonly keyId: string; readonly budget?: Budget },
): Promise<Result<KeyJson, OperationFailure>> {
  const params = { budget: budget === undefined ? null : budgetText(budget) }
  return audited(deps, { action: 'key.budget', target: keyId, params }, async (client) =>
    found(await setBudget(client, keyId, budget), keyId),
  )
}

/** Revokes a key. One that is revoked already keeps its time of revocation. */
export async function revokeApiKey(
  deps: OperationDeps,
  keyId: string,
): Promise<Result<KeyJson, OperationFailure>> {
  return audited(deps, { action: 'key.revoke', target: keyId, params: {} }, async (client) =>
    found(await revokeKey(client, keyId), keyId),
  )
}

function found(key: KeyJson | undefined, keyId: string): Result<KeyJson, OperationFailure> {
  if (key !== undefined) return succeed(key)
  return fail({ kind: 'not_found', what: `API key ${JSON.stringify(keyId)}` })
}
