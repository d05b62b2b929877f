import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { OfferResult } from '../../src/domain/ports/offers.ts'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { createOfferTaker } from '../../src/tasks/takeOffers.ts'

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

function world(produce: (taskId: string) => Promise<ProduceResult>) {
  const results: OfferResult[] = []
  const runs: string[] = []
  const failed: string[] = []
  const errors: string[] = []
  const stopping = new AbortController()
  const taker = createOfferTaker({
    produceImage: ({ taskId, via }) => {
      expect(via).toBe('offer')
      return produce(taskId)
    },
    failTask: async (taskId) => {
      failed.push(taskId)
      return 'failed'
    },
    continueAsRun: async (taskId) => void runs.push(taskId),
    slots: { A: 1, B: 2 },
    stopping: stopping.signal,
    onResult: (result) => void results.push(result),
    onUnexpected: (taskId) => void errors.push(taskId),
  })
  return { taker, results, runs, failed, errors, stopping }
}

describe('an offer', () => {
  it.each([
    [{ kind: 'succeeded' }, 'succeeded'],
    [{ kind: 'over' }, 'over'],
    [{ kind: 'end', failure }, 'failed'],
  ] as const)('whose task has ended is not continued: %j', async (result, expected) => {
    const { taker, results, runs, failed } = world(async () => result)
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual([expected])
    expect(runs).toEqual([])
    expect(failed).toEqual(result.kind === 'end' ? ['task'] : [])
  })

  it.each([
    [{ kind: 'wait', delayMs: 4_000, reason: 'cooldown' }],
    [{ kind: 'wait', delayMs: 10, reason: 'backoff' }],
  ] as const)('is continued as a run when it must wait: %j', async (result) => {
    const { taker, results, runs } = world(async () => result)
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual(['wait'])
    expect(runs).toEqual(['task'])
  })

  it('waits a moment in line for a place on its channel', async () => {
    let asked = 0
    const { taker, results } = world(async () => {
      asked += 1
      if (asked > 3) return { kind: 'succeeded' }
      return { kind: 'wait', delayMs: 20, reason: 'channel_full' }
    })
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual(['succeeded'])
  })

  it('is continued as a run after an error, and the error is reported', async () => {
    const { taker, results, runs, errors } = world(() => Promise.reject(new Error('no answer')))
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect([results, runs, errors]).toEqual([['error'], ['task'], ['task']])
  })

  it('beyond the slots of its family is continued as a run at once, and no other family is affected', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { taker, results, runs } = world(() => done.promise)
    for (const taskId of ['b1', 'b2', 'b3']) taker.take({ taskId, family: 'B' })
    taker.take({ taskId: 'a1', family: 'A' })
    await sleep(5)
    expect(runs).toEqual(['b3'])
    done.resolve({ kind: 'succeeded' })
    await taker.idle()
    taker.take({ taskId: 'b4', family: 'B' })
    await taker.idle()
    expect(results.toSorted()).toEqual(['no_slot', ...Array(4).fill('succeeded')])
  })

  it('is continued as a run when the process stops', async () => {
    const { taker, results, runs, stopping } = world(async () => ({
      kind: 'wait',
      delayMs: 0,
      reason: 'backoff',
    }))
    stopping.abort()
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect([results, runs]).toEqual([['stopping'], ['task']])
  })
})
