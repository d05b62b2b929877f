import { afterEach, expect, it, vi } from 'vitest'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { readAnswerMeta } from '../../src/tasks/produce/storedAnswer.ts'

afterEach(() => void vi.useRealTimers())

function storeThat(read: BlobStore['read']): BlobStore {
  const refuse = () => Promise.reject(new Error('not asked for'))
  return { put: refuse, read, bytesOf: refuse, deletePrefix: refuse, storeId: refuse }
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
    close: () => {},
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
