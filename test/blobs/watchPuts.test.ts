import { afterEach, expect, it, vi } from 'vitest'
import { watchPuts } from '../../src/blobs/watchPuts.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'

afterEach(() => void vi.useRealTimers())

/** A watched store in memory, whose puts fail while `broken`. `tries` counts all of them, and `failed` those reported. */
function watchedStore() {
  const memory = createMemoryBlobs()
  const state = { broken: false, tries: 0, failed: 0 }
  const put: typeof memory.put = async (...blobs) => {
    state.tries += 1
    if (state.broken) throw new Error('EROFS')
    await memory.put(...blobs)
  }
  const { blobs, takesWrites } = watchPuts({ ...memory, put }, () => (state.failed += 1))
  const store = (key: string) => blobs.put([key, Buffer.from('x')])
  const looks = async (count: number) => {
    const answers = new Set<boolean>()
    for (let n = 0; n < count; n += 1) answers.add(await takesWrites())
    return [...answers]
  }
  return { state, memory, store, looks }
}

it('a store is tried once at the start, which leaves nothing, and then never as long as puts succeed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { state, memory, store, looks } = watchedStore()
  expect(await looks(20)).toEqual([true])
  expect([state.tries, memory.content.size]).toEqual([1, 0])
  vi.advanceTimersByTime(3_600_000)
  await store('an1/image')
  expect(await looks(20)).toEqual([true])
  expect([state.tries, state.failed]).toEqual([2, 0])
})

it('a put that fails leads to one try a minute, and the first that succeeds ends that, whose ever it is', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { state, store, looks } = watchedStore()
  await looks(1)
  vi.advanceTimersByTime(60_000)
  state.broken = true
  await expect(store('an1/image')).rejects.toThrow('EROFS')
  expect(await looks(20)).toEqual([false])
  expect([state.tries, state.failed]).toEqual([3, 1])
  vi.advanceTimersByTime(59_000)
  expect(await looks(20)).toEqual([false])
  expect(state.tries).toBe(3)
  vi.advanceTimersByTime(1_000)
  expect(await looks(20)).toEqual([false])
  expect(state.tries).toBe(4)
  state.broken = false
  await store('an2/image')
  expect(await looks(20)).toEqual([true])
  expect([state.tries, state.failed]).toEqual([5, 1])
})

it('one failed put alone makes no process unready, because the next try succeeds', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { state, store, looks } = watchedStore()
  await looks(1)
  state.broken = true
  await expect(store('an1/image')).rejects.toThrow('EROFS')
  state.broken = false
  // Not tried again yet, because a minute has not passed.
  expect(await looks(20)).toEqual([true])
  vi.advanceTimersByTime(60_000)
  expect(await looks(20)).toEqual([true])
  expect([state.tries, state.failed]).toEqual([3, 1])
})

it('a store that hangs does not take writes, and a look says so within two seconds', async () => {
  const memory = createMemoryBlobs()
  const put = () => new Promise<never>(() => {})
  const { takesWrites } = watchPuts({ ...memory, put }, () => undefined)
  const startedAt = performance.now()
  expect(await takesWrites()).toBe(false)
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})
