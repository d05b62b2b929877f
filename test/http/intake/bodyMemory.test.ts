import { expect, it } from 'vitest'
import { createBodyMemory } from '../../../src/http/intake/bodyMemory.ts'

it('the memory of a body is free again before V8 collects it', () => {
  const memory = createBodyMemory()
  const before = process.memoryUsage().arrayBuffers
  const buffers = [1, 2].map(() => memory.allocate(50 * 1024 * 1024))
  const taken = process.memoryUsage().arrayBuffers - before
  expect(taken).toBeGreaterThanOrEqual(100 * 1024 * 1024)
  memory.free()
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024)
  expect(buffers.map(({ length }) => length)).toEqual([0, 0])
})
