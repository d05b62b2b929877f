import { afterEach, describe, expect, it } from 'vitest'
import { startServiceProcess } from '../../src/dev/serviceProcess.ts'
import { until } from '../support/until.ts'

const node = process.execPath

afterEach(() => {
  process.execPath = node
})

describe('a process of npm start', () => {
  it('that cannot be started is told of and tried again', async () => {
    process.execPath = '/nowhere/node'
    const said: string[] = []
    const say = (line: string) => void said.push(line)
    const service = startServiceProcess({ name: 'api', environment: {}, say })
    await until('two tries', () => (said.length > 1 ? true : undefined))
    expect(said[0]).toBe(
      'The api could not be started (spawn /nowhere/node ENOENT); it is started again.',
    )
    process.execPath = node
    // Started, it finds nothing of what it needs in its environment.
    await until('a start', () => said.find((line) => line.startsWith('The api ended (exit 2)')))
    await service.stop()
  })
})
