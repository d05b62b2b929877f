import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { startServiceProcess } from '../../src/dev/serviceProcess.ts'
import { until } from '../support/timing.ts'

const node = process.execPath
const restartDelayMs = 1_000

afterEach(() => {
  process.execPath = node
})

describe('a process of npm start', () => {
  it('that cannot be started is told of and tried again, until it refuses its configuration', async () => {
    process.execPath = '/nowhere/node'
    const said: string[] = []
    const refusals: string[] = []
    const service = startServiceProcess({
      name: 'api',
      environment: {},
      say: (line) => void said.push(line),
      onRefused: (reason) => void refusals.push(reason),
    })
    await until('two tries', () => (said.length > 1 ? true : undefined))
    expect(said[0]).toBe(
      'The api could not be started (spawn /nowhere/node ENOENT); it is started again.',
    )
    process.execPath = node
    // Started, it finds nothing of what it needs in its environment.
    await until('a refusal', () => refusals[0])
    expect(refusals).toEqual([expect.stringMatching(/^The api refuses its configuration, /)])
    const [saidSoFar, lastPid] = [said.length, service.pid()]
    await sleep(restartDelayMs + 500)
    expect([said.length, service.pid(), refusals.length]).toEqual([saidSoFar, lastPid, 1])
    await service.stop()
  })
})
