import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Places } from '../../src/tasks/produce/places.ts'
import { createPlaces } from '../../src/tasks/produce/places.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const waiter = (accountId: string, given = {}) => ({
  accountId,
  sync: false,
  model: 'model',
  channels: ['one'],
  ...given,
})

/** A channel with a number of free places, and the lines of one process for it. */
function channelWith(places: Places) {
  const served: string[] = []
  const channel = { free: 0, asked: 0, served }
  const join = (name: string, given = {}, limits = {}) =>
    places.wait(
      waiter(name.split(' ')[0] ?? '', given),
      async () => {
        channel.asked += 1
        if (channel.free === 0) return undefined
        channel.free -= 1
        served.push(name)
        return name
      },
      { limitMs: 600_000, ...limits },
    )
  return { channel, join }
}

describe('tasks that wait for a place', () => {
  it('of an account with many and one with a single task take turns', async () => {
    const { channel, join } = channelWith(createPlaces(() => 0))
    for (let task = 1; task <= 500; task += 1) void join(`many ${task}`)
    void join('single 1')
    void join('many sync', { sync: true })
    channel.free = 5
    await vi.advanceTimersByTimeAsync(250)
    expect(channel.served).toEqual(['many 1', 'single 1', 'many sync', 'many 2', 'many 3'])
  })

  it('ask one at a time, four times a second, and keep their turn while there is none', async () => {
    const { channel, join } = channelWith(createPlaces(() => 0))
    for (const name of ['a 1', 'b 1', 'c 1']) void join(name)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(channel.asked).toBe(4)
    channel.free = 1
    await vi.advanceTimersByTimeAsync(250)
    expect(channel.served).toEqual(['a 1'])
  })

  it('ask at a random moment within a quarter of a second after a call of this process', async () => {
    const places = createPlaces(() => 0.4)
    const { channel, join } = channelWith(places)
    void join('a 1')
    await vi.advanceTimersByTimeAsync(10)
    channel.free = 1
    places.callEnded('other')
    places.callEnded('one')
    await vi.advanceTimersByTimeAsync(95)
    expect(channel.served).toEqual([])
    await vi.advanceTimersByTimeAsync(10)
    expect(channel.served).toEqual(['a 1'])
  })

  it('leave after their limit, and when their signal aborts, and others move up', async () => {
    const { channel, join } = channelWith(createPlaces(() => 0))
    const stop = new AbortController()
    const short = join('a short', {}, { limitMs: 1_000 })
    const stopped = join('a stopped', {}, { signal: stop.signal })
    const last = join('a last')
    await vi.advanceTimersByTimeAsync(999)
    stop.abort()
    await vi.advanceTimersByTimeAsync(2)
    expect(await Promise.all([short, stopped])).toEqual([undefined, undefined])
    channel.free = 1
    await vi.advanceTimersByTimeAsync(250)
    expect(await last).toBe('a last')
  })

  it('keep the position of their lane for 15 seconds after they left, beside many lanes that are always full', async () => {
    const { channel, join } = channelWith(createPlaces(() => 0))
    const loops = Array.from({ length: 60 }, async (_, n) => {
      const account = `account${n % 30}`
      while (!channel.served.includes('single 1')) {
        await join(account, { sync: true })
      }
    })
    // As a workflow does: it stands in line in its slot, and then Temporal keeps its wait.
    const single = async () => {
      for (;;) {
        const slot = new AbortController()
        setTimeout(() => slot.abort(), 15_000)
        if ((await join('single 1', {}, { signal: slot.signal })) !== undefined) return
        await new Promise((resolve) => setTimeout(resolve, 8_000))
      }
    }
    const done = single()
    let seconds = 0
    for (; seconds < 300 && !channel.served.includes('single 1'); seconds += 1) {
      channel.free = 1
      await vi.advanceTimersByTimeAsync(1_000)
    }
    // One round of all lanes takes 31 seconds.
    expect(seconds).toBeLessThan(60)
    channel.free = 100
    await vi.advanceTimersByTimeAsync(60_000)
    await Promise.all([...loops, done])
  })

  it('lose the position of their lane when they stay away', async () => {
    const { channel, join } = channelWith(createPlaces(() => 0))
    void join('a 1')
    const left = new AbortController()
    void join('b 1', {}, { signal: left.signal })
    void join('c 1')
    left.abort()
    await vi.advanceTimersByTimeAsync(1_000)
    channel.free = 1
    await vi.advanceTimersByTimeAsync(1_000)
    void join('c 2')
    await vi.advanceTimersByTimeAsync(15_000)
    void join('d 1')
    channel.free = 1
    await vi.advanceTimersByTimeAsync(1_000)
    void join('b 2')
    channel.free = 3
    await vi.advanceTimersByTimeAsync(1_000)
    expect(channel.served).toEqual(['a 1', 'c 1', 'd 1', 'c 2', 'b 2'])
  })

  it('do not stop the others when their question fails', async () => {
    const places = createPlaces(() => 0)
    const { channel, join } = channelWith(places)
    const failing = places.wait(waiter('a'), () => Promise.reject(new Error('away')), {
      limitMs: 1_000,
    })
    const failed = failing.catch((error: unknown) => error)
    const next = join('b 1')
    channel.free = 1
    await vi.advanceTimersByTimeAsync(250)
    expect(await failed).toEqual(new Error('away'))
    expect(await next).toBe('b 1')
  })
})

describe('two processes on one channel', () => {
  it.each([1, 4])(
    'share its places, also when %i calls at once end in one of them only',
    async (ends) => {
      const first = createPlaces(Math.random)
      const second = createPlaces(Math.random)
      const shared = { free: 0, first: 0, second: 0 }
      const join = (places: Places, name: 'first' | 'second') =>
        places.wait(
          waiter(name),
          async () => {
            if (shared.free === 0) return undefined
            shared.free -= 1
            shared[name] += 1
            return name
          },
          { limitMs: 10_000_000 },
        )
      for (let task = 0; task < 400 * ends; task += 1) {
        void join(first, 'first')
        void join(second, 'second')
      }
      for (let call = 0; call < 400; call += 1) {
        await vi.advanceTimersByTimeAsync(997)
        for (let end = 0; end < ends; end += 1) {
          shared.free += 1
          first.callEnded('one')
        }
      }
      expect(shared.second).toBeGreaterThan(90 * ends)
      expect(shared.first).toBeGreaterThan(90 * ends)
    },
  )
})
