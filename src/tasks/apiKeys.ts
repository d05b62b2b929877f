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
import type { AccountStore } from '../store/accounts/accountStore.ts'
import type { NewApiKey } from '../store/accounts/apiKeys.ts'
import type { TaskStore } from '../store/tasks/taskStore.ts'

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
 * How long a secret that names no valid key is refused without a query. This refuses no valid key: a key that was
 * revoked or has expired never becomes valid again, and nobody knows the secret of a key before the key exists.
 */
const refusedMs = 10_000
/** Limit for the secrets that are remembered as refused. Beyond it the oldest one is forgotten. */
const refusedMax = 1_000

/**
 * Creates the function that returns the caller of a bearer secret, or `undefined`. The function refuses two kinds of
 * secrets without a query, so that they put no load on the database: a secret that was not made with one of the
 * peppers, and a secret that was refused a short time ago, such as a revoked key that is sent again and again. A
 * valid key is looked up for each request, so it is refused from the moment of its revocation.
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
    // The refused secrets are remembered by their hashes, because a memory dump must not show a secret.
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
 * Returns the function that computes keyed hashes with this pepper. The hash of a whole secret is what the database
 * stores. The hash of a secret without its checksum gives the checksum. Secrets are random, so a fast hash is enough.
 * Without the pepper a stolen database is useless.
 */
export function digestWith(pepper: Pepper): SecretDigest {
  return (text) => createHmac('sha256', pepper.secret).update(text).digest()
}
