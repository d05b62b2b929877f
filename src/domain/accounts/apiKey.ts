import type { RandomBytes } from '../ids.ts'
import { base62Digits, randomText } from '../ids.ts'

/**
 * The form of a secret: `sk-` and 48 letters or digits. The first 42 are random (250 bits), and the last 6
 * are a checksum. Because of the checksum, a mistyped or invented key is refused without a query.
 */
const secretPattern = /^sk-[0-9A-Za-z]{48}$/
const randomLength = 42
const checksumLength = 6
/**
 * How much of a secret the lists show, so that people can tell keys apart. Four of 42 random characters do
 * not help to guess the secret.
 */
const prefixLength = 'sk-'.length + 4

/** Returns a new random secret. */
export function newApiKeySecret(randomBytes: RandomBytes): string {
  const unsigned = `sk-${randomText(randomBytes, randomLength)}`
  return unsigned + checksum(unsigned)
}

/**
 * Returns whether a text has the form and the checksum of a secret. Only the database knows whether the key
 * exists.
 */
export function isWellFormedSecret(secret: string): boolean {
  if (!secretPattern.test(secret)) return false
  const unsigned = secret.slice(0, -checksumLength)
  return secret.endsWith(checksum(unsigned))
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

/** Returns the CRC-32 of a text in base 62. Six digits are enough for any 32-bit number. */
function checksum(text: string): string {
  let rest = crc32(text)
  let encoded = ''
  for (let digit = 0; digit < checksumLength; digit += 1) {
    encoded = base62Digits.charAt(rest % 62) + encoded
    rest = Math.floor(rest / 62)
  }
  return encoded
}

/** Returns the CRC-32 (ISO-HDLC, reflected) of an ASCII text. */
export function crc32(text: string): number {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index) & 0xff
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
