import type { RandomBytes } from './ids.ts'
import { randomText } from './ids.ts'

/**
 * Research wire.md section 6 (Keys, scopes): `sk-` and 48 alphanumerics. The last six are a checksum over
 * the rest, so that a mistyped or invented key costs no SQL; 42 random ones are 250 bits.
 */
const secretPattern = /^sk-[0-9A-Za-z]{48}$/
const randomLength = 42
const checksumLength = 6
/** Shown in lists so that people can tell keys apart; four of 42 random characters give nothing away. */
const prefixLength = 'sk-'.length + 4

/** A secret nobody has seen before. */
export function newApiKeySecret(randomBytes: RandomBytes): string {
  const unsigned = `sk-${randomText(randomBytes, randomLength)}`
  return unsigned + checksum(unsigned)
}

/** A guard against typing errors and guesses, not a proof: only the database knows which keys exist. */
export function isWellFormedSecret(secret: string): boolean {
  if (!secretPattern.test(secret)) return false
  const unsigned = secret.slice(0, -checksumLength)
  return secret.endsWith(checksum(unsigned))
}

/** What lists show of a secret. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, prefixLength)
}

/** `key_` and 16 random letters or digits: names a key where its secret must not appear. */
export function newKeyId(randomBytes: RandomBytes): string {
  return `key_${randomText(randomBytes, 16)}`
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** CRC-32 in base 62: six digits hold any 32-bit number. */
function checksum(text: string): string {
  let rest = crc32(text)
  let encoded = ''
  for (let digit = 0; digit < checksumLength; digit += 1) {
    encoded = digits.charAt(rest % 62) + encoded
    rest = Math.floor(rest / 62)
  }
  return encoded
}

/** CRC-32 (ISO-HDLC polynomial, reflected) of a text's UTF-16 code units taken as bytes: ASCII only. */
export function crc32(text: string): number {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index) & 0xff
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
