import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { AttemptName } from '../../src/domain/ports/attemptStore.ts'
import { createPresence } from '../../src/tasks/presence.ts'

const everyMs = 20

function recorder(fails = false) {
  const told: (readonly AttemptName[])[] = []
  const presence = createPresence(
    {
      touchAttempts: (attempts) => {
        told.push(attempts)
        return fails ? Promise.reject(new Error('the database is away')) : Promise.resolve()
      },
    },
    everyMs,
  )
  return { told, presence }
}

const first = { taskId: 'first', n: 1 }
const second = { taskId: 'second', n: 2 }

describe('the presence of calls', () => {
  it('reports all calls under way, and none that has ended', async () => {
    const { told, presence } = recorder()
    const long = presence.during(first, () => sleep(100, 'first done'))
    const short = presence.during(second, () => sleep(50, 'second done'))
    expect(await Promise.all([long, short])).toEqual(['first done', 'second done'])
    expect(told.at(0)).toEqual([first, second])
    expect(told.at(-1)).toEqual([first])
    const tellings = told.length
    await sleep(3 * everyMs)
    expect(told).toHaveLength(tellings)
  })

  it('starts again with the next call, also after a call that threw', async () => {
    const { told, presence } = recorder()
    const broken = presence.during(first, () => Promise.reject(new Error('broken')))
    await expect(broken).rejects.toThrow('broken')
    await presence.during(second, () => sleep(2 * everyMs + 10))
    expect(told.at(0)).toEqual([second])
  })

  it('continues when a report fails', async () => {
    const { told, presence } = recorder(true)
    expect(await presence.during(first, () => sleep(4 * everyMs, 'done'))).toBe('done')
    expect(told.length).toBeGreaterThan(1)
  })

  it('reports again although a report hangs on a dead connection', async () => {
    let words = 0
    const touchAttempts = () => {
      words += 1
      return new Promise<void>(() => {})
    }
    const presence = createPresence({ touchAttempts }, everyMs)
    await presence.during(first, () => sleep(10 * everyMs))
    expect(words).toBeGreaterThan(2)
  })
})
