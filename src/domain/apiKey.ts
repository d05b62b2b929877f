import type { RandomBytes } from './ids.ts'
import { base62Digits, randomText } from './ids.ts'

/**
 * `sk-` and 48 letters or digits: 42 random ones (250 bits), then a checksum of six, so that a mistyped or
 * invented key is refused without a query.
 */
const secretPattern = /^sk-[0-9A-Za-z]{48}$/
const randomLength = 42
const checksumLength = 6
/** Lists show this much of a secret, so that people can tell keys apart. Four characters of 42 reveal nothing. */
const prefixLength = 'sk-'.length + 4

/** A new random secret. */
export function newApiKeySecret(randomBytes: RandomBytes): string {
  const unsigned = `sk-${randomText(randomBytes, randomLength)}`
  return unsigned + checksum(unsigned)
}

/** Whether a text can be a secret: its form and checksum are right. Only the database knows which keys exist. */
export function isWellFormedSecret(secret: string): boolean {
  if (!secretPattern.test(secret)) return false
  const unsigned = secret.slice(0, -checksumLength)
  return secret.endsWith(checksum(unsigned))
}

/** The part of a secret that lists show. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, prefixLength)
}

/** `key_` and 16 random letters or digits. It names a key wherever the secret must not appear. */
export function newKeyId(randomBytes: RandomBytes): string {
  return `key_${randomText(randomBytes, 16)}`
}

/** CRC-32 in base 62. Six digits can represent any 32-bit number. */
function checksum(text: string): string {
  let rest = crc32(text)
  let encoded = ''
  for (let digit = 0; digit < checksumLength; digit += 1) {
    encoded = base62Digits.charAt(rest % 62) + encoded
    rest = Math.floor(rest / 62)
  }
  return encoded
}

/** CRC-32 (ISO-HDLC, reflected) of an ASCII text. */
export function crc32(text: string): number {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index) & 0xff
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
