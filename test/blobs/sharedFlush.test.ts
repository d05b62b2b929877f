import { expect, it } from 'vitest'
import { createSharedFlush } from '../../src/blobs/sharedFlush.ts'

it('those who ask while a flush is under way share the next one, and its failure, and no later one', async () => {
  const begun: PromiseWithResolvers<void>[] = []
  const flush = createSharedFlush(() => {
    const one = Promise.withResolvers<void>()
    begun.push(one)
    return one.promise
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const first = flush()
  await turn()
  let done = 0
  const shared = Promise.allSettled([flush(), flush()]).finally(() => (done += 1))
  await turn()
  expect(begun).toHaveLength(1)
  begun[0]?.resolve()
  await first
  await turn()
  // The first flush does not count for them: it began before they asked.
  expect([begun.length, done]).toEqual([2, 0])
  const after = flush()
  begun[1]?.reject(new Error('disk'))
  expect((await shared).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await turn()
  begun[2]?.resolve()
  await after
})
