import { describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'

const mebibyte = 1024 * 1024

describe('what is not set', () => {
  it('is as the contract has it: results for 24 hours, and a record for a week more', () => {
    const { retentionSeconds, tombstoneSeconds } = readConfig({})
    expect([retentionSeconds, tombstoneSeconds]).toEqual([24 * 3600, 7 * 24 * 3600])
  })

  it('leaves room for the largest legal body', () => {
    // All images together in Base64, and a long prompt beside them.
    const largest = (64 * mebibyte * 4) / 3 + 16 * mebibyte
    expect(readConfig({ INGRESS_LIMIT_BYTES: '' }).ingressLimitBytes).toBeGreaterThan(largest)
  })
})
