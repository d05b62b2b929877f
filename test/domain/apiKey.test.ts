import { randomBytes } from 'node:crypto'
import { crc32 as zlibCrc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  isWellFormedSecret,
  newApiKeySecret,
  secretPrefix,
  crc32,
} from '../../src/domain/apiKey.ts'

describe('API key secrets', () => {
  it('are sk- and 48 letters or digits, and different each time', () => {
    const secrets = Array.from({ length: 200 }, () => newApiKeySecret(randomBytes))
    for (const secret of secrets) {
      expect(secret).toMatch(/^sk-[0-9A-Za-z]{48}$/)
      expect(isWellFormedSecret(secret)).toBe(true)
    }
    expect(new Set(secrets).size).toBe(200)
  })

  it('are recognised as wrong after any change of one character', () => {
    const secret = newApiKeySecret(randomBytes)
    for (let index = 0; index < secret.length; index += 1) {
      const other = secret.charAt(index) === 'x' ? 'y' : 'x'
      const changed = secret.slice(0, index) + other + secret.slice(index + 1)
      expect(isWellFormedSecret(changed)).toBe(false)
    }
  })

  it('are recognised as wrong with any other length', () => {
    const secret = newApiKeySecret(randomBytes)
    for (const wrong of ['', 'sk-', secret.slice(0, -1), `${secret}0`, secret.repeat(1000), '\0']) {
      expect(isWellFormedSecret(wrong)).toBe(false)
    }
  })

  it('show only four random characters in lists', () => {
    const secret = newApiKeySecret(randomBytes)
    expect(secretPrefix(secret)).toBe(secret.slice(0, 7))
  })
})

describe('crc32', () => {
  it('is the checksum that zlib computes', () => {
    for (const text of ['', '123456789', newApiKeySecret(randomBytes)]) {
      expect(crc32(text)).toBe(zlibCrc32(text))
    }
  })
})
