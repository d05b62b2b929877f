import { createHmac } from 'node:crypto'
import type { Pool } from 'pg'
import type { Caller } from '../domain/accounts/account.ts'
import { base62Digits, randomText } from '../domain/ids.ts'
import type { NewApiKey } from '../store/accounts/apiKeys.ts'
import { findCaller } from '../store/accounts/apiKeys.ts'

/**
 * One secret of `KEY_PEPPER`. New keys are hashed with the first pepper of the list. Existing keys are
 * verified with every pepper of the list.
 */
export type Pepper = { readonly id: string; readonly secret: string }

/**
 * `sk-` and 48 letters or digits: 42 random ones (250 bits), then a checksum of six. Nobody can compute the
 * checksum without the pepper, so a mistyped or invented key is refused without a query.
 */
const secretPattern = /^sk-[0-9A-Za-z]{48}$/
const randomLength = 42
const checksumLength = 6
/**
 * How much of a secret the lists show, so that people can tell keys apart. Four of 42 random characters do
 * not help to guess the secret.
 */
const prefixLength = 'sk-'.length + 4

/**
 * Returns the caller of a bearer secret, or `undefined`. A secret that was not made with one of the peppers is refused
 * without a query, so that invented ones put no load on the database. Every other one is looked up for each request, so
 * a key is refused from the moment of its revocation.
 */
export async function authenticate(
  pool: Pool,
  peppers: readonly Pepper[],
  secret: string,
): Promise<Caller | undefined> {
  const makers = peppers.filter((pepper) => isWellFormed(secret, pepper))
  if (makers.length === 0) return undefined
  return findCaller(
    pool,
    makers.map((pepper) => digest(pepper, secret)),
  )
}

/** A new secret, which is stored nowhere, and what is stored of it. */
type NewSecret = Pick<NewApiKey, 'prefix' | 'pepperId' | 'secretHash'> & {
  readonly secret: string
}

/** Makes the secret of a new API key. `pepper` is the first one of `KEY_PEPPER`. */
export function newSecret(pepper: Pepper): NewSecret {
  const unsigned = `sk-${randomText(randomLength)}`
  const secret = unsigned + checksum(unsigned, pepper)
  return {
    secret,
    prefix: secret.slice(0, prefixLength),
    pepperId: pepper.id,
    secretHash: digest(pepper, secret),
  }
}

/**
 * Returns a new key id: `key_` and 16 random letters or digits. The id names a key wherever its secret must
 * not appear.
 */
export function newKeyId(): string {
  return `key_${randomText(16)}`
}

/** Whether a text can be a secret: its form and checksum are right. Only the database knows which keys exist. */
function isWellFormed(secret: string, pepper: Pepper): boolean {
  if (!secretPattern.test(secret)) return false
  return secret.endsWith(checksum(secret.slice(0, -checksumLength), pepper))
}

/**
 * Returns the checksum: each of the first bytes of the digest as a letter or digit. 62 does not divide 256, so some characters are a little more
 * frequent than others. That does no harm in a checksum.
 */
function checksum(unsigned: string, pepper: Pepper): string {
  const bytes = [...digest(pepper, unsigned).subarray(0, checksumLength)]
  return bytes.map((byte) => base62Digits.charAt(byte % 62)).join('')
}

/**
 * Computes a keyed hash. The hash of a whole secret is what the database stores. The hash of a secret without its
 * checksum gives the checksum. Secrets are random, so a fast hash is enough. Without the pepper a stolen database is
 * useless.
 */
function digest(pepper: Pepper, text: string): Buffer {
  return createHmac('sha256', pepper.secret).update(text).digest()
}
