import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { AttemptName } from '../../src/domain/ports/attemptStore.ts'
import { createPresence } from '../../src/tasks/presence.ts'

const everyMs = 20

function recorder(fails = false) {
  const reported: (readonly AttemptName[])[] = []
  const presence = createPresence(
    {
      touchAttempts: (attempts) => {
        reported.push(attempts)
        return fails ? Promise.reject(new Error('the database is away')) : Promise.resolve()
      },
    },
    everyMs,
  )
  return { reported, presence }
}

const first = { taskId: 'first', n: 1 }
const second = { taskId: 'second', n: 2 }

describe('the presence of calls', () => {
  it('reports all calls under way, and none that has ended', async () => {
    const { reported, presence } = recorder()
    const short = presence.during(second, () => sleep(3 * everyMs, 'second done'))
    const long = presence.during(first, async () => {
      await short
      return sleep(3 * everyMs, 'first done')
    })
    expect(await Promise.all([long, short])).toEqual(['first done', 'second done'])
    expect(reported.at(0)).toEqual([second, first])
    expect(reported.at(-1)).toEqual([first])
    const reports = reported.length
    await sleep(3 * everyMs)
    expect(reported).toHaveLength(reports)
  })

  it('starts again with the next call, also after a call that threw', async () => {
    const { reported, presence } = recorder()
    const broken = presence.during(first, () => Promise.reject(new Error('broken')))
    await expect(broken).rejects.toThrow('broken')
    await presence.during(second, () => sleep(2 * everyMs + 10))
    expect(reported.at(0)).toEqual([second])
  })

  it('continues when a report fails', async () => {
    const { reported, presence } = recorder(true)
    expect(await presence.during(first, () => sleep(4 * everyMs, 'done'))).toBe('done')
    expect(reported.length).toBeGreaterThan(1)
  })

  it('reports again although a report hangs on a dead connection', async () => {
    let reports = 0
    const touchAttempts = () => {
      reports += 1
      return new Promise<void>(() => {})
    }
    const presence = createPresence({ touchAttempts }, everyMs)
    await presence.during(first, () => sleep(10 * everyMs))
    expect(reports).toBeGreaterThan(2)
  })
})
