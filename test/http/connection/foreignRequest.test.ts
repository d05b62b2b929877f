import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { createInternalServer } from '../../../src/http/internalServer.ts'

async function startInternal(host: string): Promise<number> {
  const metrics = { expose: async () => 'up 1\n', contentType: 'text/plain' }
  const readiness = async () => ({ ready: true, parts: {} })
  const server = await createInternalServer({ host, port: 0, metrics, readiness })
  onTestFinished(() => server.close())
  return server.port
}

async function startUpstream(host: string): Promise<number> {
  const simulator = await startSimulator({ host, port: 0 })
  onTestFinished(() => simulator.close())
  return simulator.port
}

async function statusOf(port: number, path: string, headers: Record<string, string>) {
  const call = request({ host: '127.0.0.1', port, path, headers, setHost: false }).end()
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    call.once('response', resolve)
    call.once('error', reject)
  })
  answer.resume()
  return answer.statusCode
}

const servers = [
  ['the metrics', startInternal, '/metrics'],
  ['the readiness', startInternal, '/readyz'],
  ['the calls of the simulator', startUpstream, '/__simulator/calls'],
] as const

describe.each(servers)('%s on a loopback address', (_what, start, path) => {
  it.each([
    'rebound.example:9464',
    'localhost.rebound.example',
    '127.0.0.1.rebound.example',
    '10.0.0.1:9464',
    'user@rebound.example',
    ' ',
  ])('are refused to the host name %j', async (host) => {
    expect(await statusOf(await start('127.0.0.1'), path, { host })).toBe(403)
  })

  it.each(['https://page.example', 'null', 'http://127.0.0.1.page.example'])(
    'are refused to a page from %j',
    async (origin) => {
      const port = await start('127.0.0.1')
      expect(await statusOf(port, path, { host: `127.0.0.1:${port}`, origin })).toBe(403)
    },
  )

  it.each(['127.0.0.1', 'localhost', 'localhost.', 'LOCALHOST:1', '[::1]:8090', '127.8.8.8'])(
    'are given to the host name %j',
    async (host) => {
      const port = await start('127.0.0.1')
      const origin = `http://localhost:${port}`
      expect(await statusOf(port, path, { host })).toBe(200)
      expect(await statusOf(port, path, { host, origin })).toBe(200)
    },
  )
})

it.each(servers)('%s on every address are given to any host name', async (_what, start, path) => {
  expect(await statusOf(await start('0.0.0.0'), path, { host: 'worker:9465' })).toBe(200)
})
