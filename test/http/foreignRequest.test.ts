import { request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import { foreignRequest } from '../../src/http/server/foreignRequest.ts'
import { createInternalServer } from '../../src/http/server/internalServer.ts'

type Names = Parameters<typeof foreignRequest>[1]
const onLoopback: Names = { listenHost: '127.0.0.1' }
const behindProxy: Names = { listenHost: '0.0.0.0', allowedHosts: ['admin.example'] }

function isForeign(names: Names, host: string, origin?: string): boolean {
  return foreignRequest({ headers: { host, ...(origin && { origin }) } }, names) !== undefined
}

it('a server on a loopback address knows only the names of this machine and its pages', () => {
  const own = ['127.0.0.1', 'localhost', 'localhost.', 'LOCALHOST:1', '[::1]:8090', '127.8.8.8']
  for (const host of own) {
    expect([host, isForeign(onLoopback, host)]).toEqual([host, false])
    expect([host, isForeign(onLoopback, host, `http://${host}`)]).toEqual([host, false])
  }
  const others = ['rebound.example:9464', 'localhost.rebound.example', '127.0.0.1.rebound.example']
  for (const host of [...others, '10.0.0.1:9464', 'user@rebound.example', ' ']) {
    expect([host, isForeign(onLoopback, host)]).toEqual([host, true])
  }
  const pages = ['https://page.example', 'null', 'http://127.0.0.1.page.example']
  for (const origin of [...pages, 'http://localhost:1']) {
    expect([origin, isForeign(onLoopback, '127.0.0.1', origin)]).toEqual([origin, true])
  }
})

it('a server on every address that is not told its names knows any', () => {
  expect(isForeign({ listenHost: '0.0.0.0' }, 'worker:9465')).toBe(false)
})

it('a server behind a proxy knows the names that are allowed, with the page of that name alone', () => {
  expect(isForeign(behindProxy, 'admin.example')).toBe(false)
  expect(isForeign(behindProxy, 'ADMIN.example.:8443', 'https://admin.example:8443')).toBe(false)
  expect(isForeign(behindProxy, 'admin.example', 'https://admin.example')).toBe(false)
  expect(isForeign(behindProxy, 'admin.example', 'https://evil.example')).toBe(true)
  for (const host of ['evil.example', 'localhost', '127.0.0.1', 'admin.example.evil.example']) {
    expect([host, isForeign(behindProxy, host)]).toEqual([host, true])
  }
})

const metrics = { expose: async () => 'up 1\n', contentType: 'text/plain' }
const readiness = async () => ({ ready: true, parts: {} })
const here = { host: '127.0.0.1', port: 0 }
it.each([
  ['metrics', () => createInternalServer({ ...here, metrics, readiness }), '/metrics'],
  ['readiness', () => createInternalServer({ ...here, metrics, readiness }), '/readyz'],
  ['calls of the simulator', () => startSimulator(here), '/__simulator/calls'],
])('the %s are refused to a foreign request', async (_what, start, path) => {
  const server = await start()
  onTestFinished(() => server.close())
  const { host } = here
  const statusOf = (name: string) =>
    new Promise((resolve) => {
      const headers = { host: name }
      request({ host, port: server.port, path, headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      }).end()
    })
  expect([await statusOf('localhost'), await statusOf('rebound.example')]).toEqual([200, 403])
})
