import { expect, it } from 'vitest'
import { freeMemory } from '../../src/streams/freeMemory.ts'

it('the memory of a large buffer is free before V8 collects it, and of a small one when V8 does', () => {
  const before = process.memoryUsage().arrayBuffers
  const large = Buffer.allocUnsafeSlow(100 * 1024 * 1024)
  freeMemory(large)
  // A second time does nothing.
  freeMemory(large)
  expect(large).toHaveLength(0)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024)
  const [first, second] = [Buffer.from('first'), Buffer.from('second')]
  freeMemory(first)
  expect([first.toString(), second.toString()]).toEqual(['first', 'second'])
})
