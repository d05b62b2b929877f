import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Beat, BeatResult, PresenceStore } from '../../src/domain/ports/presenceStore.ts'
import type { PresenceEvent } from '../../src/tasks/presence.ts'
import { createPresence } from '../../src/tasks/presence.ts'
import { until } from '../support/timing.ts'

const everyMs = 10
const nothing: BeatResult = { silent: [], orphans: [] }

/** A presence on a store that answers each beat with `answer`. `stuck` is a task whose attempt cannot be closed. */
function world(answer: (beat: Beat) => BeatResult = () => nothing, stuck?: string) {
  const freed = Promise.withResolvers<void>()
  const beats: Beat[] = []
  const lost: string[] = []
  const left: string[] = []
  const closed: { taskId: string; called: boolean }[] = []
  const events: PresenceEvent[] = []
  const store: PresenceStore = {
    beat: async (beat) => {
      beats.push(beat)
      return answer(beat)
    },
    markLost: async ({ processId }) => {
      lost.push(processId)
      return true
    },
    leave: async (processId) => void left.push(processId),
  }
  const presence = createPresence({
    store,
    processId: 'own',
    closeOrphan: async ({ taskId, called }) => {
      if (taskId === stuck) await freed.promise
      closed.push({ taskId, called })
    },
    onEvent: (event) => void events.push(event),
    everyMs,
  })
  running.push({
    stop: () => {
      freed.resolve()
      return presence.stop()
    },
  })
  return { presence, beats, lost, left, closed, events }
}

const running: { stop: () => Promise<void> }[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const presence of running.splice(0)) await presence.stop()
})

const moreBeats = (beats: readonly Beat[], count: number) => {
  const enough = beats.length + count
  return until('beats', () => (beats.length >= enough ? true : undefined))
}

/**
 * Lets the monotonic clock of the process run faster, so that a doubt of seconds passes in a moment. Returns the limit
 * for `until`, which reads the same clock.
 */
function fasterClock(times: number): number {
  const startMs = performance.now()
  const real = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => startMs + (real() - startMs) * times)
  return 15_000 * times
}

describe('the beats of a process', () => {
  it('name the attempts that it works on, and go on until it stops', async () => {
    const { presence, beats, left } = world()
    await presence.start()
    await presence.during('an1', async () => {
      await moreBeats(beats, 2)
      expect(beats.at(-1)).toMatchObject({ accepting: true, heldAnswerIds: ['an1'] })
    })
    await presence.stopAccepting()
    expect(beats.at(-1)).toMatchObject({
      processId: 'own',
      accepting: false,
      heldAnswerIds: [],
    })
    await moreBeats(beats, 2)
    await presence.stop()
    const sent = beats.length
    await sleep(5 * everyMs)
    expect(beats).toHaveLength(sent)
    expect(left).toEqual(['own'])
  })

  it('continue after a beat that failed, and the process is not present after eight seconds without one', async () => {
    let fails = false
    const { presence, beats, events } = world(() => {
      if (fails) throw new Error('PostgreSQL is away')
      return nothing
    })
    await presence.start()
    expect(presence.isPresent()).toBe(true)
    fails = true
    await moreBeats(beats, 2)
    expect(events.at(-1)).toMatchObject({ kind: 'beat_failed' })
    expect(presence.isPresent()).toBe(true)
    // The monotonic clock stands still while the machine is suspended. The wall clock does not.
    const wallMs = Date.now() + 9_000
    vi.spyOn(Date, 'now').mockImplementation(() => wallMs)
    expect(presence.isPresent()).toBe(false)
  })
})

describe('the doubt of a silent process', () => {
  const silent = [{ processId: 'other', seenAt: '2026-01-01' }]

  it('ends with its loss after six seconds of own beats', async () => {
    const limitMs = fasterClock(10)
    const { presence, lost } = world(() => ({ silent, orphans: [] }))
    const startedAtMs = performance.now()
    await presence.start()
    await until('the loss', () => (lost.length > 0 ? true : undefined), limitMs)
    expect(performance.now() - startedAtMs).toBeGreaterThan(6_000)
    expect(lost[0]).toBe('other')
  })

  it('begins again after a gap between the own beats', async () => {
    // Each beat comes more than three seconds after the one before.
    const limitMs = fasterClock(1_000)
    const { presence, beats, lost } = world(() => ({ silent, orphans: [] }))
    await presence.start()
    await until('beats', () => beats.length > 5 || undefined, limitMs)
    expect(lost).toEqual([])
  })
})

describe('an open attempt of the process that no work holds', () => {
  it('is closed, as not called only when no byte of its call can have left', async () => {
    const orphan = (answerId: string) => ({ taskId: `task of ${answerId}`, n: 1, answerId })
    let orphans: readonly string[] = []
    const { presence, beats, closed } = world(() => ({
      silent: [],
      orphans: orphans.map(orphan),
    }))
    await presence.start()
    const lostAnswer = presence.during('an1', () => Promise.reject(new Error('no answer')))
    await expect(lostAnswer).rejects.toThrow('no answer')
    const brokenCall = presence.during('an2', async (calling) => {
      calling()
      throw new Error('not settled')
    })
    await expect(brokenCall).rejects.toThrow('not settled')
    await presence.during('an3', async () => {
      orphans = ['an1', 'an2', 'an3']
      await moreBeats(beats, 2)
      orphans = []
    })
    await moreBeats(beats, 2)
    expect(closed.slice(0, 2)).toEqual([
      { taskId: 'task of an1', called: false },
      { taskId: 'task of an2', called: true },
    ])
    expect(closed.map(({ taskId }) => taskId)).not.toContain('task of an3')
  })
})
