import { once } from 'node:events'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { requireFreePorts } from '../../src/dev/ports.ts'
import { freePort, freeStartPorts, isFree } from '../support/ports.ts'

/** An address of this machine other than 127.0.0.1: its ports in use are free on 127.0.0.1. */
const otherAddress = (await isFree(0, '127.0.0.2')) ? '127.0.0.2' : '::1'
// The tests of this file run at once, because a port in use is looked at for three seconds.
const servers: Server[] = []

afterAll(() => {
  for (const server of servers) server.close()
})

async function takenPort(host: string): Promise<number> {
  const port = await freePort()
  const server = createServer().listen(port, host)
  servers.push(server)
  await once(server, 'listening')
  return port
}

async function require(variables: Readonly<Record<string, string>>): Promise<void> {
  await requireFreePorts(readConfig({ ...(await freeStartPorts()), ...variables }))
}

describe('the ports of a start', () => {
  it.concurrent('are accepted when all are free', async () => {
    await expect(require({})).resolves.toBeUndefined()
  })

  it.concurrent.each([
    'PORT',
    'INTERNAL_PORT',
    'WORKER_INTERNAL_PORT',
    'SIMULATOR_PORT',
    'POSTGRES_PORT',
    'TEMPORAL_PORT',
    'TEMPORAL_UI_PORT',
  ])('are refused with the name of the variable when one is in use: %s', async (variable) => {
    const port = String(await takenPort('127.0.0.1'))
    await expect(require({ [variable]: port })).rejects.toThrow(
      `${variable} ${port} is in use by another program`,
    )
  })

  it.concurrent("are refused when a port of Temporal's own services is in use", async () => {
    const { TEMPORAL_PORT } = await freeStartPorts()
    const last = Number(TEMPORAL_PORT) + 7
    servers.push(createServer().listen(last, '127.0.0.1'))
    await expect(require({ TEMPORAL_PORT })).rejects.toThrow(
      `TEMPORAL_PORT ${last} is in use by another program`,
    )
  })

  it.concurrent.each([
    ['PORT', 'HOST'],
    ['WORKER_INTERNAL_PORT', 'INTERNAL_HOST'],
  ])('are looked at on the address that is set: %s on %s', async (variable, host) => {
    const port = String(await takenPort(otherAddress))
    await expect(require({ [variable]: port, [host]: otherAddress })).rejects.toThrow(
      `${variable} ${port} is in use by another program`,
    )
  })

  it.concurrent.each(['HOST', 'INTERNAL_HOST'])(
    'are refused when this machine has no such address: %s',
    async (variable) => {
      // An address for documentation (RFC 5737), which no machine has.
      await expect(require({ [variable]: '192.0.2.1' })).rejects.toThrow(
        `listening on ${variable} 192.0.2.1 is refused (EADDRNOTAVAIL)`,
      )
    },
  )

  it.concurrent.each(['PORT', 'POSTGRES_PORT'])('are refused when one is 0: %s', async (name) => {
    await expect(require({ [name]: '0' })).rejects.toThrow(`${name}: `)
  })

  it.concurrent('are not looked at when their part is not started', async () => {
    const port = String(await takenPort('127.0.0.1'))
    const own = { DATABASE_URL: 'postgres://127.0.0.1/x', TEMPORAL_ADDRESS: '127.0.0.1:1' }
    const ports = { POSTGRES_PORT: port, TEMPORAL_PORT: port, TEMPORAL_UI_PORT: port }
    const simulator = { SIMULATOR_PORT: port, DARKROOM_CONFIG: 'config.json' }
    await expect(require({ ...own, ...ports, ...simulator })).resolves.toBeUndefined()
  })
})
