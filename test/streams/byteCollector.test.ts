import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createByteCollector } from '../../src/streams/byteCollector.ts'

describe('a collector of bytes', () => {
  it.each([
    ['of which the number is not known', 3_000_000, undefined],
    ['of which the number is known', 3_000_000, 2_000_000],
    ['none', 0, 0],
  ])('keeps the bytes of all chunks in their order: %s', (_what, bytesMax, expectedBytes) => {
    const whole = randomBytes(Math.min(bytesMax, 2_000_000))
    const collector = createByteCollector(bytesMax, expectedBytes)
    for (let at = 0; at < whole.length; at += 1 + (at % 70_000)) {
      // The memory of a chunk is used again for the next.
      const chunk = Buffer.from(whole.subarray(at, at + 1 + (at % 70_000)))
      expect(collector.add(chunk)).toBe(true)
      chunk.fill(0)
    }
    expect(collector.length()).toBe(whole.length)
    expect(collector.bytes().equals(whole)).toBe(true)
  })

  it('refuses the chunk that exceeds its limit, to the byte', () => {
    const collector = createByteCollector(100_000)
    expect(collector.add(Buffer.alloc(99_999, 1))).toBe(true)
    expect(collector.add(Buffer.alloc(2, 2))).toBe(false)
    expect(collector.add(Buffer.alloc(1, 3))).toBe(true)
    expect([...collector.bytes().subarray(-2)]).toEqual([1, 3])
  })
})
