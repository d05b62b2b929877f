import { afterEach, expect, it, vi } from 'vitest'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { readAnswerMeta, storeAnswer } from '../../src/tasks/storedAnswer.ts'

import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { succeeded } from '../support/upstream/countedUpstream.ts'

afterEach(() => void vi.useRealTimers())

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

it('gives an image up once it is stored, also by a later try', async () => {
  const blobs = createMemoryBlobs()
  vi.spyOn(blobs, 'put').mockRejectedValueOnce(new Error('the disk is full'))
  const outcome = succeeded()
  if (outcome.class !== 'succeeded') throw new Error('Bug: no image')
  const discard = vi.spyOn(outcome.image, 'discard')
  await storeAnswer(blobs, { taskId: 't', attempt: 1, answerId: 'an1', hardEndMs: 5_000, outcome })
  expect([...blobs.content.keys()]).toEqual(['an1/image', 'an1/meta.json'])
  expect(discard).toHaveBeenCalledOnce()
})
