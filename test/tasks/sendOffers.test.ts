import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { TaskStart } from '../../src/domain/ports/taskRuns.ts'
import { createOfferSender } from '../../src/tasks/sendOffers.ts'

function startOf(taskId: string): TaskStart {
  const model = 'familyb-image-2-vip'
  return { taskId, accountId: 'acct', family: 'B', model, action: 'generate', sync: true }
}

function world(list: () => Promise<readonly string[]>) {
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
    const { offers, offer, sent } = world(async () => ['first', 'second'])
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
    const none = world(async () => [])
    await none.offer('1')
    const away = world(() => Promise.reject(new Error('PostgreSQL is away')))
    await away.offer('2')
    expect([none.runs, none.sent, away.runs]).toEqual([['1'], [], ['2']])
  })

  it('uses one list of processes for a second', async () => {
    const { offer, lists, pass } = world(async () => ['only'])
    await offer('1')
    await offer('2')
    expect(lists()).toBe(1)
    pass(1_001)
    await offer('3')
    expect(lists()).toBe(2)
  })
})
