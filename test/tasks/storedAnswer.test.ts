import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { readAnswerMeta, withTimeout } from '../../src/tasks/storedAnswer.ts'
import { standStill } from '../support/standStill.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

function storeThat(read: BlobStore['read']): BlobStore {
  const refuse = () => Promise.reject(new Error('not asked for'))
  return { put: refuse, read, deletePrefix: refuse, storeId: refuse }
}

it('tells an answer that was not stored from a store that fails', async () => {
  const empty = storeThat(async () => undefined)
  expect(await readAnswerMeta(empty, 'an1')).toBeUndefined()
  const broken = storeThat(async () => {
    throw Object.assign(new Error('secret place'), { code: 'ECONNREFUSED' })
  })
  await expect(readAnswerMeta(broken, 'an1')).rejects.toMatchObject({
    name: 'AnswerUnknownError',
    code: 'ECONNREFUSED',
    message: expect.not.stringContaining('secret'),
  })
})

it('fails when the store does not answer, or stops in the middle of its answer', async () => {
  vi.useFakeTimers()
  const silent = () => new Promise<never>(() => {})
  const dumb = storeThat(silent)
  const halfway = storeThat(async () => ({
    bytes: 10,
    content: (async function* () {
      yield Buffer.from('{')
      await silent()
    })(),
  }))
  for (const store of [dumb, halfway]) {
    const read = readAnswerMeta(store, 'an1')
    await Promise.all([
      expect(read).rejects.toThrow('could not say'),
      vi.advanceTimersByTimeAsync(10_000),
    ])
  }
})

const limitMs = 50

describe('a read with a time limit', () => {
  it('fails at its limit', async () => {
    const asked = withTimeout(limitMs, () => sleep(1_000, 'late', { ref: false }))
    await expect(asked).rejects.toThrow('no answer in 50 ms')
  })

  it.each([300, 700])('does not fail because the process stalled for %s ms', async (stoppedMs) => {
    const asked = withTimeout(limitMs, async () => {
      await sleep(1)
      standStill(stoppedMs)
      await sleep(5)
      return 'an answer'
    })
    expect(await asked).toBe('an answer')
  })

  it('fails in the end when the process stalls again and again', async () => {
    vi.useFakeTimers()
    const clock = performance.now.bind(performance)
    let stoodMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => clock() + stoodMs)
    const standStillAgainAndAgain = async () => {
      for (let stops = 0; stops < 4 * limitMs; stops += 1) {
        stoodMs += 300
        await vi.advanceTimersByTimeAsync(1)
      }
    }
    await Promise.all([
      expect(withTimeout(limitMs, () => new Promise(() => {}))).rejects.toThrow('no answer'),
      standStillAgainAndAgain(),
    ])
  })
})
