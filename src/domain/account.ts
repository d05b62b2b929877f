import type { RandomBytes } from './ids.ts'
import { randomText } from './ids.ts'
import type { ModelId } from './models.ts'

/** An account as the operator sees it: design section 3, `account show`. Credits are whole. */
export type Account = {
  readonly accountId: string
  readonly name: string
  /** Absent: all models. */
  readonly models?: readonly ModelId[]
  readonly createdAtMs: number
  readonly available: number
  readonly held: number
  readonly spent: number
}

/** An API key without its secret, which is nowhere. */
export type ApiKey = {
  readonly keyId: string
  readonly prefix: string
  readonly createdAtMs: number
  readonly expiresAtMs?: number
  readonly revokedAtMs?: number
}

/** Starts with a letter or digit, so that a name never looks like an option or a path. */
export const accountNamePattern = /^[0-9A-Za-z][0-9A-Za-z._@+-]{0,99}$/

/** One deposit; far below the safe range of integers, which bounds a balance as a whole. */
export const depositCreditsMax = 1_000_000_000_000

/** An account's credits, spent ones included, stay exact in every JSON reader. */
export const accountCreditsMax = Number.MAX_SAFE_INTEGER

/** `acct_` and 16 random letters or digits. */
export function newAccountId(randomBytes: RandomBytes): string {
  return `acct_${randomText(randomBytes, 16)}`
}

/** Who asks: the account behind a valid key. The key itself goes no further than authentication. */
export type Caller = {
  readonly accountId: string
  readonly keyId: string
  /** Models this account and key may use; absent: all. */
  readonly models?: readonly ModelId[]
}
