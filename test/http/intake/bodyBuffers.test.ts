import { describe, expect, it } from 'vitest'
import { createBodyBuffers } from '../../../src/http/intake/bodyBuffers.ts'

const mebibyte = 1024 * 1024

describe('the memory for bodies', () => {
  it('is used again when a request is over, and not before', () => {
    const buffers = createBodyBuffers()
    const [first, second] = [buffers.open(), buffers.open()]
    const used = first.allocate(5 * mebibyte)
    expect(used.length).toBeGreaterThanOrEqual(5 * mebibyte)
    expect(second.allocate(5 * mebibyte)).not.toBe(used)
    first.end()
    // A second end does not give the same buffer to two requests.
    first.end()
    expect(buffers.open().allocate(4 * mebibyte)).toBe(used)
    expect(buffers.open().allocate(4 * mebibyte)).not.toBe(used)
  })

  it('keeps no buffer of a body above 8 MiB, and four others at most', () => {
    const buffers = createBodyBuffers()
    const request = buffers.open()
    const used = [9, 8, 8, 8, 8, 8].map((size) => request.allocate(size * mebibyte))
    request.end()
    const next = buffers.open()
    const again = [9, 8, 8, 8, 8, 8].map((size) => next.allocate(size * mebibyte))
    expect(again.filter((buffer) => used.includes(buffer))).toHaveLength(4)
    expect(used.slice(0, 1)).not.toContain(again[0])
  })
})
