import type { RandomBytes } from './ids.ts'
import { randomText } from './ids.ts'
import type { ModelId } from './models.ts'

/** An account as `account show` prints it. Credits are whole numbers. */
export type Account = {
  readonly accountId: string
  readonly name: string
  /** The models that the account may use. Absent: all. */
  readonly models?: readonly ModelId[]
  readonly createdAtMs: number
  readonly available: number
  readonly held: number
  readonly spent: number
}

/** An API key without its secret, which is stored nowhere. */
export type ApiKey = {
  readonly keyId: string
  readonly prefix: string
  readonly createdAtMs: number
  readonly expiresAtMs?: number
  readonly revokedAtMs?: number
}

/** A name starts with a letter or digit, so that it cannot look like an option or a path. */
export const accountNamePattern = /^[0-9A-Za-z][0-9A-Za-z._@+-]{0,99}$/

/** The largest deposit, far below `accountCreditsMax`. */
export const depositCreditsMax = 1_000_000_000_000

/** The most credits of an account, including spent ones: every JSON reader keeps such a number exact. */
export const accountCreditsMax = Number.MAX_SAFE_INTEGER

/** `acct_` and 16 random letters or digits. */
export function newAccountId(randomBytes: RandomBytes): string {
  return `acct_${randomText(randomBytes, 16)}`
}

/** The account behind a valid API key. The secret is used for authentication and not passed on. */
export type Caller = {
  readonly accountId: string
  readonly keyId: string
  /** The models that the account may use. Absent: all. */
  readonly models?: readonly ModelId[]
}
