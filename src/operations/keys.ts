import type { Budget } from '../domain/accounts/budget.ts'
import { budgetText } from '../domain/accounts/budget.ts'
import { defined } from '../domain/defined.ts'
import type { List } from '../domain/lists/list.ts'
import { succeed } from '../domain/result.ts'
import { findAccount } from '../store/accounts/accountRows.ts'
import type { KeyJson } from '../store/accounts/apiKeys.ts'
import { createKey, listKeys, revokeKey } from '../store/accounts/apiKeys.ts'
import { setBudget } from '../store/accounts/budgets.ts'
import type { Page } from '../store/readPage.ts'
import type { Pepper } from '../tasks/keySecrets.ts'
import { newKeyId, newSecret } from '../tasks/keySecrets.ts'
import { accountNamed } from './accounts.ts'
import { audited } from './audit.ts'
import type { Done, OperationDeps } from './operation.ts'
import { found, listed, missing } from './operation.ts'

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
): Done<KeyJson & { readonly secret: string }> {
  const pepper = deps.pepper()
  const keyId = newKeyId()
  const params = {
    key_id: keyId,
    ...defined({ expires_in_ms: expiresInMs, budget: budget && budgetText(budget) }),
  }
  return audited(deps, { action: 'key.create', target: account, params }, async (client) => {
    const owner = await findAccount(client, account)
    if (owner === undefined) return missing(accountNamed(account))
    const { secret, ...hashed } = newSecret(pepper)
    const terms = defined({ expiresInMs, budget })
    const key = await createKey(client, { keyId, accountId: owner.account_id, ...hashed, ...terms })
    return succeed({ ...key, secret })
  })
}

/** Lists the keys of an account, newest first. */
export async function listAccountKeys(
  { pool }: OperationDeps,
  { account, ...page }: Page & { readonly account: string },
): Done<List<KeyJson>> {
  const owner = await findAccount(pool, account)
  if (owner === undefined) return missing(accountNamed(account))
  return listed(await listKeys(pool, owner.account_id, page))
}

/** Sets or removes the budget of a key. What the present period holds or has spent counts from the start. */
export async function setKeyBudget(
  deps: OperationDeps,
  { keyId, budget }: { readonly keyId: string; readonly budget?: Budget },
): Done<KeyJson> {
  const params = { budget: budget === undefined ? null : budgetText(budget) }
  return audited(deps, { action: 'key.budget', target: keyId, params }, async (client) =>
    found(await setBudget(client, keyId, budget), keyWithId(keyId)),
  )
}

/** Revokes a key. One that is revoked already keeps its time of revocation. */
export async function revokeApiKey(deps: OperationDeps, keyId: string): Done<KeyJson> {
  return audited(deps, { action: 'key.revoke', target: keyId, params: {} }, async (client) =>
    found(await revokeKey(client, keyId), keyWithId(keyId)),
  )
}

function keyWithId(keyId: string): string {
  return `API key ${JSON.stringify(keyId)}`
}
