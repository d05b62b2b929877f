import { freeMemory } from './freeMemory.ts'

/** What a buffer has at first. Most bodies are smaller. */
const firstBytes = 64 * 1024

/** How much larger the next buffer is. Large, because a copy of 32 MiB would block other work for too long. */
const growth = 16

/**
 * Creates a collector of at most `bytesMax` bytes. `sizeMax` is given where their number is known. A chunk is
 * copied as it arrives: chunks that are kept would take 420 bytes each, also where a client sends single bytes. The
 * pages of a large buffer take no memory before something is written to them.
 */
export function createByteCollector(bytesMax: number, sizeMax: number = bytesMax) {
  let buffer = Buffer.allocUnsafeSlow(Math.min(firstBytes, sizeMax))
  let length = 0

  /** Copies a chunk behind the others. Returns false, and copies nothing, when they would exceed the limit together. */
  function add(chunk: Uint8Array): boolean {
    const sum = length + chunk.length
    if (sum > bytesMax) return false
    if (sum > buffer.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.min(Math.max(growth * buffer.length, sum), sizeMax),
      )
      buffer.copy(larger, 0, 0, length)
      freeMemory(buffer)
      buffer = larger
    }
    buffer.set(chunk, length)
    length = sum
    return true
  }

  return { add, length: () => length, bytes: () => buffer.subarray(0, length) }
}
