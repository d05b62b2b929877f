import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/configError.ts'
import { isStartFailure } from '../../src/dev/stack/startFailure.ts'
import { freePort } from '../../src/dev/stack/freePort.ts'
import { untilReady } from '../../src/dev/untilReady.ts'
import { listen } from '../support/upstream/testServers.ts'

const never = new Promise<string>(() => {})

function answering(status: number, body: string) {
  return listen((_request, response) => void response.writeHead(status).end(body))
}

describe('waiting for the processes of npm start', () => {
  it('ends when each answers that it is ready', async () => {
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

  it('that took too long tells which parts of which process are not ok', async () => {
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
    expect(isStartFailure(failure)).toBe(true)
    expect(failure).toMatchObject({
      message:
        'Darkroom was not ready within 0.2 s:\n' +
        '- the api: blob_store is foreign, temporal is unavailable\n' +
        '- the front: answers 503\n' +
        `- the worker does not answer at ${silent}`,
    })
  })

  it('ends at once when one refuses its configuration', async () => {
    const probes = [{ name: 'the api', url: await answering(503, '{}') }]
    const refused = Promise.resolve('The api refuses its configuration.')
    await expect(untilReady({ probes, refused, timeoutMs: 60_000 })).rejects.toThrow(
      new ConfigError('The api refuses its configuration.'),
    )
  })
})
