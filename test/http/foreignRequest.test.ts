import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/server.ts'
import { foreignRequest } from '../../src/http/foreignRequest.ts'
import { createInternalServer } from '../../src/http/internalServer.ts'

async function startInternal(host: string) {
  const metrics = { expose: async () => 'up 1\n', contentType: 'text/plain' }
  const readiness = async () => ({ ready: true, parts: {} })
  return await createInternalServer({ host, port: 0, metrics, readiness })
}

const servers = [
  ['the metrics', startInternal, '/metrics'],
  ['the readiness', startInternal, '/readyz'],
  [
    'the calls of the simulator',
    (host: string) => startSimulator({ host, port: 0 }),
    '/__simulator/calls',
  ],
] as const

const requests: readonly (readonly [host: string, origin: string | undefined, status: number])[] = [
  ...['rebound.example:9464', 'localhost.rebound.example', '127.0.0.1.rebound.example'].map(
    (host) => [host, undefined, 403] as const,
  ),
  ...['10.0.0.1:9464', 'user@rebound.example', ' '].map((host) => [host, undefined, 403] as const),
  ...['https://page.example', 'null', 'http://127.0.0.1.page.example', 'http://localhost:1'].map(
    (origin) => ['127.0.0.1', origin, 403] as const,
  ),
  ...['127.0.0.1', 'localhost', 'localhost.', 'LOCALHOST:1', '[::1]:8090', '127.8.8.8'].flatMap(
    (host) => [[host, undefined, 200] as const, [host, `http://${host}`, 200] as const],
  ),
]

describe.each(servers)('%s', (_what, start, path) => {
  async function open(listenHost: string) {
    const server = await start(listenHost)
    onTestFinished(() => server.close())
    return async (host: string, origin: string | undefined) => {
      const headers = origin === undefined ? { host } : { host, origin }
      const { port } = server
      const call = request({ host: '127.0.0.1', port, path, headers, setHost: false }).end()
      const [answer]: IncomingMessage[] = await once(call, 'response')
      answer?.resume()
      return answer?.statusCode
    }
  }

  it('on a loopback address are given only to the names of this machine and its pages', async () => {
    const statusOf = await open('127.0.0.1')
    const seen: (readonly [string, string | undefined, number | undefined])[] = []
    for (const [host, origin] of requests) seen.push([host, origin, await statusOf(host, origin)])
    expect(seen).toEqual(requests)
  })

  it('on every address are given to any host name', async () => {
    expect(await (await open('0.0.0.0'))('worker:9465', undefined)).toBe(200)
  })
})

describe('the console behind a proxy', () => {
  const names = { listenHost: '0.0.0.0', allowedHosts: ['admin.example'] }
  const isForeign = (host: string, origin?: string) =>
    foreignRequest({ headers: { host, ...(origin && { origin }) } }, names) !== undefined

  it('answers to the names that are allowed, with the page of that name alone', () => {
    expect(isForeign('admin.example')).toBe(false)
    expect(isForeign('ADMIN.example.:8443', 'https://admin.example:8443')).toBe(false)
    expect(isForeign('admin.example', 'https://admin.example')).toBe(false)
    expect(isForeign('admin.example', 'https://evil.example')).toBe(true)
    for (const host of ['evil.example', 'localhost', '127.0.0.1', 'admin.example.evil.example']) {
      expect([host, isForeign(host)]).toEqual([host, true])
    }
  })
})
