import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { listen } from '../support/upstream/testServers.ts'

const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')

/** The address that a service's health check calls, and the check's script with `url` instead. */
function checkOf(service: string, url: string) {
  const [, block = ''] = compose.split(new RegExp(`^  ${service}:\n`, 'm'))
  const own = block.split(/^ {0,2}\S/m)[0] ?? ''
  const script = /test:\s+\[\s*CMD,\s*node,\s*-e,\s*"(.+)",?\s*\]/.exec(own)?.[1]
  const asked = /http:[^']+/.exec(script ?? '')?.[0]
  if (script === undefined || asked === undefined) throw new Error(`No check of ${service}`)
  return { asked, script: script.replace(asked, url) }
}

async function exitCodeAt(status: number, service: string): Promise<unknown> {
  const url = await listen((_request, response) => response.writeHead(status).end('{}'))
  const { script } = checkOf(service, `${url}/readyz`)
  const [code] = await once(spawn(process.execPath, ['-e', script], { stdio: 'ignore' }), 'exit')
  return code
}

describe('the health check of a container', () => {
  it.each([
    ['api', 'http://127.0.0.1:8080/readyz'],
    ['worker', 'http://127.0.0.1:9465/readyz'],
  ])('asks %s whether it is ready', async (service, address) => {
    expect(checkOf(service, '').asked).toBe(address)
    expect(await exitCodeAt(200, service)).toBe(0)
    expect(await exitCodeAt(503, service)).toBe(1)
  })

  it('fails when nothing listens on the address', async () => {
    const { script } = checkOf('api', 'http://127.0.0.1:1/readyz')
    const [code] = await once(spawn(process.execPath, ['-e', script], { stdio: 'ignore' }), 'exit')
    expect(code).toBe(1)
  })
})
