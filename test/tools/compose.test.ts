import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { serviceAllocator, serviceNodeFlags } from '../../src/dev/environment.ts'
import { listen } from '../support/upstream/testServers.ts'

const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
const operating = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')

/** The lines of one service, or of one shared block such as `x-confined`. */
function blockOf(name: string): string {
  const [, rest = ''] = compose.split(new RegExp(`^ {0,2}${name}:.*\n`, 'm'))
  const indent = name.startsWith('x-') ? /^\S/m : /^ {0,2}\S/m
  return rest.split(indent)[0] ?? ''
}

const [, servicesText = ''] = compose.split(/^(?:services|volumes):\n/m)
const services = [...servicesText.matchAll(/^  ([\w-]+):$/gm)].map((match) => match[1] ?? '')

/** The address that a service's health check calls, and the check's script with `url` instead. */
function checkOf(service: string, url: string) {
  const own = blockOf(service)
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

describe('the containers', () => {
  it('start processes with the flags of `npm start`, which the documentation names', () => {
    const { api, worker } = serviceNodeFlags
    const entrypoint = JSON.stringify(['node', ...worker]).replaceAll(',', ', ')
    expect(dockerfile).toContain(`ENTRYPOINT ${entrypoint}\n`)
    // The entry point is that of the worker. The API has further flags before its script.
    expect(api.slice(0, worker.length)).toEqual(worker)
    const own = [...api.slice(worker.length), 'src/api.ts']
    expect(dockerfile).toContain(`CMD ${JSON.stringify(own).replaceAll(',', ', ')}\n`)
    expect(blockOf('api')).toContain(`command: [${own.join(', ')}]\n`)
    expect(operating).toContain(`node_modules/.bin/node ${api.join(' ')} src/api.ts`)
    expect(operating).toContain(`node_modules/.bin/node ${worker.join(' ')} src/worker.ts`)
    for (const [name, value] of Object.entries(serviceAllocator)) {
      expect(dockerfile).toContain(`ENV ${name}=${value}\n`)
    }
  })

  it('are published on the loopback address only', () => {
    const published = [...compose.matchAll(/ports: \['(.*)'\]/g)].map((match) => match[1])
    expect(published).toHaveLength(2)
    expect(published.filter((port) => !port?.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('get the credentials of the upstreams in the worker alone', () => {
    const named = [...services, 'x-darkroom'].filter((name) => blockOf(name).includes('_API_KEY'))
    expect(named).toEqual(['worker'])
  })
})
