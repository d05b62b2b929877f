import type { RandomBytes } from '../ids.ts'
import { base62Digits, randomText } from '../ids.ts'

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

/** A keyed digest of a text, of six bytes or more. */
export type SecretDigest = (text: string) => Uint8Array

/** A new random secret. */
export function newApiKeySecret(randomBytes: RandomBytes, digest: SecretDigest): string {
  const unsigned = `sk-${randomText(randomBytes, randomLength)}`
  return unsigned + checksum(unsigned, digest)
}

/** Whether a text can be a secret: its form and checksum are right. Only the database knows which keys exist. */
export function isWellFormedSecret(secret: string, digest: SecretDigest): boolean {
  if (!secretPattern.test(secret)) return false
  const unsigned = secret.slice(0, -checksumLength)
  return secret.endsWith(checksum(unsigned, digest))
}

/** Returns the part of a secret that lists show. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, prefixLength)
}

/**
 * Returns a new key id: `key_` and 16 random letters or digits. The id names a key wherever its secret must
 * not appear.
 */
export function newKeyId(randomBytes: RandomBytes): string {
  return `key_${randomText(randomBytes, 16)}`
}

/**
 * Turns each byte of the digest into a letter or digit. 62 does not divide 256, so some characters are a little more
 * frequent than others. That does no harm in a checksum.
 */
function checksum(unsigned: string, digest: SecretDigest): string {
  const bytes = [...digest(unsigned).subarray(0, checksumLength)]
  return bytes.map((byte) => base62Digits.charAt(byte % 62)).join('')
}
