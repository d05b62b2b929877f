import { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isWellFormedSecret, newApiKeySecret } from '../../../src/domain/accounts/apiKey.ts'

const digest = digestWith('a pepper')

function digestWith(key: string) {
  return (text: string) => createHmac('sha256', key).update(text).digest()
}

describe('API key secrets', () => {
  it('are sk- and 48 letters or digits, and different each time', () => {
    const secrets = Array.from({ length: 200 }, () => newApiKeySecret(randomBytes, digest))
    for (const secret of secrets) {
      expect(secret).toMatch(/^sk-[0-9A-Za-z]{48}$/)
      expect(isWellFormedSecret(secret, digest)).toBe(true)
    }
    expect(new Set(secrets).size).toBe(200)
  })

  it('are recognised as wrong after any change of one character', () => {
    const secret = newApiKeySecret(randomBytes, digest)
    for (let index = 0; index < secret.length; index += 1) {
      const other = secret.charAt(index) === 'x' ? 'y' : 'x'
      const changed = secret.slice(0, index) + other + secret.slice(index + 1)
      expect(isWellFormedSecret(changed, digest)).toBe(false)
    }
  })

  it('are recognised as wrong with any other length', () => {
    const secret = newApiKeySecret(randomBytes, digest)
    for (const wrong of ['', 'sk-', secret.slice(0, -1), `${secret}0`, secret.repeat(1000), '\0']) {
      expect(isWellFormedSecret(wrong, digest)).toBe(false)
    }
  })

  it('are recognised as wrong when another digest made them', () => {
    const secret = newApiKeySecret(randomBytes, digestWith('another pepper'))
    expect(isWellFormedSecret(secret, digest)).toBe(false)
  })
})
