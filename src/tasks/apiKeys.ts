import { createHmac } from 'node:crypto'
import type { ApiKey, Caller } from '../domain/accounts/account.ts'
import type { SecretDigest } from '../domain/accounts/apiKey.ts'
import {
  isWellFormedSecret,
  newApiKeySecret,
  newKeyId,
  secretPrefix,
} from '../domain/accounts/apiKey.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { AccountStore, NewApiKey } from '../domain/ports/accountStore.ts'
import type { TaskStore } from '../domain/ports/taskStore.ts'

/**
 * One secret of `KEY_PEPPER`. New keys are hashed with the first pepper of the list. Existing keys are
 * verified with every pepper of the list.
 */
export type Pepper = { readonly id: string; readonly secret: string }

type AuthenticateDeps = {
  readonly store: Pick<TaskStore, 'findCaller'>
  readonly peppers: readonly Pepper[]
  /** Default: the clock of this process. */
  readonly monotonicMs?: () => number
}

/**
 * How long a key that was not found is refused without a query. A key that was revoked or has expired stays so, and
 * nobody has a key before it exists, so no valid key is refused.
 */
const refusedMs = 10_000
/** Limit for the remembered keys. Beyond it the oldest one is forgotten. */
const refusedMax = 1_000

/**
 * Returns the caller of a bearer secret, or `undefined`. A secret that none of the peppers made is refused
 * without a query, so invented keys put no load on the database; nor do revoked ones that are sent again and
 * again. No caller is remembered, so a revoked key is refused from the moment of its revocation.
 */
export function createAuthenticate(deps: AuthenticateDeps) {
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const refusedAtMs = new Map<string, number>()

  function remember(name: string): void {
    refusedAtMs.delete(name)
    refusedAtMs.set(name, monotonicMs())
    const [oldest] = refusedAtMs.keys()
    if (refusedAtMs.size > refusedMax && oldest !== undefined) refusedAtMs.delete(oldest)
  }

  return async (secret: string): Promise<Caller | undefined> => {
    const makers = deps.peppers.filter((pepper) => isWellFormedSecret(secret, digestWith(pepper)))
    if (makers.length === 0) return undefined
    const hashes = makers.map((pepper) => digestWith(pepper)(secret))
    // Not the secret itself: a memory dump must not show it.
    const name = Buffer.concat(hashes).toString('base64')
    if (monotonicMs() - (refusedAtMs.get(name) ?? -Infinity) < refusedMs) return undefined
    const caller = await deps.store.findCaller(hashes)
    if (caller === undefined) remember(name)
    return caller
  }
}

type IssueKeyDeps = {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'createKey'>
  /** The first pepper of `KEY_PEPPER`, which hashes new keys. */
  readonly pepper: Pepper
  readonly randomBytes: RandomBytes
}

/**
 * Makes a new API key for an account. The returned secret is stored nowhere. Returns `undefined` when there
 * is no such account.
 */
export type IssueKey = (
  accountName: string,
  terms?: Pick<NewApiKey, 'expiresInMs' | 'budget'>,
) => Promise<{ readonly key: ApiKey; readonly secret: string } | undefined>

/** Creates the function that makes new API keys. */
export function createIssueKey(deps: IssueKeyDeps): IssueKey {
  return async (accountName, terms) => {
    const account = await deps.accounts.findAccount(accountName)
    if (account === undefined) return undefined
    const secret = newApiKeySecret(deps.randomBytes, digestWith(deps.pepper))
    const key = await deps.accounts.createKey({
      keyId: newKeyId(deps.randomBytes),
      accountId: account.accountId,
      prefix: secretPrefix(secret),
      pepperId: deps.pepper.id,
      secretHash: digestWith(deps.pepper)(secret),
      ...terms,
    })
    return { key, secret }
  }
}

/**
 * The keyed hash of a secret, under which it is stored, and of its random part for the checksum. Secrets are
 * random, so a fast hash is enough. A stolen database is useless without the pepper.
 */
export function digestWith(pepper: Pepper): SecretDigest {
  return (text) => createHmac('sha256', pepper.secret).update(text).digest()
}
