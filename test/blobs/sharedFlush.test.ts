import { expect, it } from 'vitest'
import { createSharedFlush } from '../../src/blobs/sharedFlush.ts'

function openWorld() {
  const begun: { readonly end: () => void; readonly fail: (error: Error) => void }[] = []
  const flush = createSharedFlush(
    () => new Promise((resolve, reject) => void begun.push({ end: resolve, fail: reject })),
  )
  return { begun, flush }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('a flush begins at once when none is under way, and those who ask meanwhile share the next one', async () => {
  const { begun, flush } = openWorld()
  const first = flush()
  await turn()
  expect(begun).toHaveLength(1)
  let done = 0
  const later = [flush(), flush(), flush()].map(async (each) => {
    await each
    done += 1
  })
  await turn()
  expect(begun).toHaveLength(1)
  begun[0]?.end()
  await first
  await turn()
  // The first flush does not count for them: it began before they asked.
  expect([begun.length, done]).toEqual([2, 0])
  begun[1]?.end()
  await Promise.all(later)
  const last = flush()
  await turn()
  begun[2]?.end()
  await last
})

it('a flush that fails, fails for those who shared it and for nobody else', async () => {
  const { begun, flush } = openWorld()
  const first = flush()
  await turn()
  const shared = Promise.allSettled([flush(), flush()])
  begun[0]?.fail(new Error('disk'))
  await expect(first).rejects.toThrow('disk')
  await turn()
  const after = flush()
  begun[1]?.fail(new Error('disk again'))
  expect((await shared).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await turn()
  begun[2]?.end()
  await after
})
