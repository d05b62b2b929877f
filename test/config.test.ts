import { describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'
import { ConfigError } from '../src/config/configError.ts'

const mebibyte = 1024 * 1024

describe('the default configuration', () => {
  it('keeps results for 24 hours and the record of each task for another seven days', () => {
    const { retentionSeconds, tombstoneSeconds } = readConfig({})
    expect([retentionSeconds, tombstoneSeconds]).toEqual([24 * 3600, 7 * 24 * 3600])
  })

  it('keeps the inputs of failed tasks for 24 hours', () => {
    expect(readConfig({}).inputRetentionSeconds).toBe(24 * 3600)
  })

  it('leaves room for the largest legal body', () => {
    // All images together in Base64, and a long prompt.
    const largest = (64 * mebibyte * 4) / 3 + 16 * mebibyte
    expect(readConfig({ INGRESS_LIMIT_BYTES: '' }).ingressLimitBytes).toBeGreaterThan(largest)
  })
})

describe('a variable with a wrong value', () => {
  it.each(['eighty', '80.5', '-1', '65536', '1e3', ' ', '0x50'])(
    'is refused with the allowed values: PORT=%j',
    (value) => {
      expect(() => readConfig({ PORT: value })).toThrow(
        new ConfigError('PORT: must be a whole number from 0 to 65535'),
      )
    },
  )

  it('is refused with the limits of that variable', () => {
    expect(() => readConfig({ UPSTREAM_CALLS_MAX: '0', SYNC_DEADLINE_SECONDS: '9999' })).toThrow(
      'SYNC_DEADLINE_SECONDS: must be a whole number from 1 to 3600\n' +
        'UPSTREAM_CALLS_MAX: must be a whole number from 1 to 100',
    )
    expect(readConfig({ UPSTREAM_CALLS_MAX: ' 100 ' }).upstreamCallsMax).toBe(100)
  })

  it.each([
    'https://images.example/?a=b',
    'https://images.example/#top',
    'https://images.example?',
  ])('is refused as the base of URLs: %s', (url) => {
    expect(() => readConfig({ PUBLIC_URL: url })).toThrow(
      'PUBLIC_URL: must have no query and no fragment',
    )
  })
})

describe('PUBLIC_URL', () => {
  it('may have a path and loses its trailing slash', () => {
    const { publicUrl } = readConfig({ PUBLIC_URL: 'https://images.example/darkroom/' })
    expect(publicUrl).toBe('https://images.example/darkroom')
  })
})
