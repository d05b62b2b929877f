import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/configError.ts'
import { startServiceProcess, untilReady } from '../../src/dev/serviceProcess.ts'
import { freePort } from '../../src/dev/stack/ports.ts'
import { StartError } from '../../src/dev/stack/startError.ts'
import { until } from '../support/timing.ts'
import { listen } from '../support/upstream/testServers.ts'

const node = process.execPath
const restartDelayMs = 1_000

afterEach(() => {
  process.execPath = node
})

describe('a process of npm start', () => {
  it('is started again when it could not be started, and not when it refuses its configuration', async () => {
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
    // The process now starts and refuses its empty environment.
    await until('a refusal', () => refusals[0])
    expect(refusals).toEqual([expect.stringMatching(/^The api refuses its configuration, /)])
    const [saidSoFar, lastPid] = [said.length, service.pid()]
    await sleep(restartDelayMs + 500)
    expect([said.length, service.pid(), refusals.length]).toEqual([saidSoFar, lastPid, 1])
    await service.stop()
  })
})

const never = new Promise<string>(() => {})

function answering(status: number, body: string) {
  return listen((_request, response) => void response.writeHead(status).end(body))
}

describe('waiting for the processes of npm start', () => {
  it('ends when every process answers that it is ready', async () => {
    let asked = 0
    const late = await listen((_request, response) => {
      asked += 1
      response.writeHead(asked < 3 ? 503 : 200).end('{"status":"ready"}')
    })
    const probes = [
      { name: 'the api', url: await answering(200, '{"parts":{"temporal":"unavailable"}}') },
      { name: 'the worker', url: late },
    ]
    await untilReady({ probes, refused: never, timeoutMs: 10_000 })
    expect(asked).toBe(3)
  })

  it('fails with the parts that are not ok when it takes too long', async () => {
    const parts = { database: 'ok', blob_store: 'foreign', temporal: 'unavailable' }
    const silent = `http://127.0.0.1:${await freePort()}/readyz`
    const probes = [
      { name: 'the api', url: await answering(503, JSON.stringify({ parts })) },
      { name: 'the front', url: await answering(503, 'no JSON') },
      { name: 'the worker', url: silent },
      { name: 'the other', url: await answering(200, '{}') },
    ]
    const failure: unknown = await untilReady({ probes, refused: never, timeoutMs: 200 }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(StartError)
    expect(failure).toMatchObject({
      message:
        'Darkroom was not ready within 0.2 s:\n' +
        '- the api: blob_store is foreign, temporal is unavailable\n' +
        '- the front: answers 503\n' +
        `- the worker does not answer at ${silent}`,
    })
  })

  it('fails at once when a process refuses its configuration', async () => {
    const probes = [{ name: 'the api', url: await answering(503, '{}') }]
    const refused = Promise.resolve('The api refuses its configuration.')
    await expect(untilReady({ probes, refused, timeoutMs: 60_000 })).rejects.toThrow(
      new ConfigError('The api refuses its configuration.'),
    )
  })
})
