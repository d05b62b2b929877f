import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { TaskStart } from '../../src/domain/ports/taskRuns.ts'
import type { OfferResult } from '../../src/domain/tasks/offer.ts'
import type { ProduceInput, ProduceResult } from '../../src/tasks/produceImage.ts'
import { createOfferSender } from '../../src/tasks/sendOffers.ts'
import { createOfferTaker } from '../../src/tasks/takeOffers.ts'

function startOf(taskId: string): TaskStart {
  const model = 'familyb-image-2-vip'
  return { taskId, accountId: 'acct', family: 'B', model, action: 'generate', sync: true }
}

function sending(list: () => Promise<readonly string[]>) {
  const sent: string[] = []
  const runs: string[] = []
  const draws: number[] = []
  let nowMs = 0
  let lists = 0
  const offers = createOfferSender({
    acceptingProcesses: () => {
      lists += 1
      return list()
    },
    send: (processId) => void sent.push(processId),
    startRun: ({ taskId }) => void runs.push(taskId),
    random: () => draws.shift() ?? 0,
    nowMs: () => nowMs,
  })
  const offer = async (taskId: string, ...drawn: number[]) => {
    draws.splice(0, draws.length, ...drawn)
    offers.offer(startOf(taskId))
    await sleep(0)
  }
  return {
    offers,
    offer,
    sent,
    runs,
    lists: () => lists,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('an offered task', () => {
  it('goes to the process with fewer open offers of the two that are drawn', async () => {
    const { offers, offer, sent } = sending(async () => ['first', 'second'])
    await offer('1', 0, 0.9)
    await offer('2', 0, 0.9)
    await offer('3', 0, 0)
    await offer('4', 0, 0.9)
    expect(sent).toEqual(['first', 'second', 'first', 'second'])
    offers.close('1')
    offers.close('3')
    offers.close('3')
    await offer('5', 0.9, 0)
    expect(sent.at(-1)).toBe('first')
  })

  it('becomes a run when no process takes offers, and when they cannot be listed', async () => {
    const none = sending(async () => [])
    await none.offer('1')
    const away = sending(() => Promise.reject(new Error('PostgreSQL is away')))
    await away.offer('2')
    expect([none.runs, none.sent, away.runs]).toEqual([['1'], [], ['2']])
  })
})

const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

function taking(
  produce: (taskId: string, onLine: ProduceInput['onLine']) => Promise<ProduceResult>,
) {
  const results: OfferResult[] = []
  const runs: string[] = []
  const errors: string[] = []
  const stopping = new AbortController()
  const taker = createOfferTaker({
    produceImage: ({ taskId, via, onLine }) => {
      expect(via).toBe('offer')
      return produce(taskId, onLine)
    },
    continueAsRun: async (taskId) => void runs.push(taskId),
    slots: { A: 1, B: 2 },
    stopping: stopping.signal,
    onResult: (result) => void results.push(result),
    onUnexpected: (taskId) => void errors.push(taskId),
  })
  return { taker, results, runs, errors, stopping }
}

describe('an offer', () => {
  it.each([
    [{ kind: 'succeeded' }, 'succeeded'],
    [{ kind: 'over' }, 'over'],
    [{ kind: 'failed', failure }, 'failed'],
  ] as const)('whose task has ended is not continued: %j', async (result, expected) => {
    const { taker, results, runs } = taking(async () => result)
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual([expected])
    expect(runs).toEqual([])
  })

  it.each([
    [{ kind: 'wait', delayMs: 4_000, reason: 'cooldown' }],
    [{ kind: 'wait', delayMs: 10, reason: 'backoff' }],
  ] as const)('is continued as a run when it must wait: %j', async (result) => {
    const { taker, results, runs } = taking(async () => result)
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect(results).toEqual(['wait'])
    expect(runs).toEqual(['task'])
  })

  it('is continued as a run after an error, and the error is reported', async () => {
    const { taker, results, runs, errors } = taking(() => Promise.reject(new Error('no answer')))
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect([results, runs, errors]).toEqual([['error'], ['task'], ['task']])
  })

  it('beyond the slots of its family is continued as a run at once, and no other family is affected', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { taker, results, runs } = taking(() => done.promise)
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

  it('takes no slot while its task stands in line', async () => {
    const done = Promise.withResolvers<ProduceResult>()
    const { taker, runs } = taking(async (_taskId, onLine) => {
      onLine?.(true)
      return done.promise.finally(() => onLine?.(false))
    })
    for (const taskId of ['b1', 'b2', 'b3']) taker.take({ taskId, family: 'B' })
    await sleep(5)
    expect(runs).toEqual([])
    done.resolve({ kind: 'succeeded' })
    await taker.idle()
  })

  it('is continued as a run when the process stops', async () => {
    const { taker, results, runs, stopping } = taking(async () => ({
      kind: 'wait',
      delayMs: 0,
      reason: 'stopping',
    }))
    stopping.abort()
    taker.take({ taskId: 'task', family: 'B' })
    await taker.idle()
    expect([results, runs]).toEqual([['stopping'], ['task']])
  })
})
