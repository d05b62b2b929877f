import { once } from 'node:events'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { readStartConfig } from '../../src/dev/variables.ts'
import { requireFreePorts } from '../../src/dev/ports.ts'
import { freePort, freeStartPorts, isFree } from '../support/ports.ts'

/** An address of this machine other than 127.0.0.1: its ports in use are free on 127.0.0.1. */
const otherAddress = (await isFree(0, '127.0.0.2')) ? '127.0.0.2' : '::1'
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
  await requireFreePorts(readStartConfig({ ...(await freeStartPorts()), ...variables }))
}

/** What is thrown when these ports are looked at. */
function refusals(cases: readonly Readonly<Record<string, string>>[]) {
  return Promise.all(
    cases.map((variables) =>
      require(variables).then(
        () => 'accepted',
        (error: unknown) => String(error),
      ),
    ),
  )
}

describe('the ports of a start', () => {
  it('are accepted when all are free, and not looked at when their part is not started', async () => {
    const port = String(await takenPort('127.0.0.1'))
    const own = { DATABASE_URL: 'postgres://127.0.0.1/x', TEMPORAL_ADDRESS: '127.0.0.1:1' }
    const ports = { POSTGRES_PORT: port, TEMPORAL_PORT: port, TEMPORAL_UI_PORT: port }
    const simulator = { SIMULATOR_PORT: port, DARKROOM_CONFIG: 'config.json' }
    expect(await refusals([{}, { ...own, ...ports, ...simulator }])).toEqual([
      'accepted',
      'accepted',
    ])
  })

  it('are refused with the name of the variable when one is in use, on the address that is set', async () => {
    const port = String(await takenPort('127.0.0.1'))
    const other = String(await takenPort(otherAddress))
    // An address for documentation (RFC 5737), which no machine has.
    const nowhere = '192.0.2.1'
    const { TEMPORAL_PORT } = await freeStartPorts()
    const last = Number(TEMPORAL_PORT) + 7
    servers.push(createServer().listen(last, '127.0.0.1'))
    const inUse = [
      'PORT',
      'ADMIN_PORT',
      'INTERNAL_PORT',
      'WORKER_INTERNAL_PORT',
      'SIMULATOR_PORT',
      'POSTGRES_PORT',
      'TEMPORAL_PORT',
      'TEMPORAL_UI_PORT',
    ].map((name) => [{ [name]: port }, `${name} ${port} is in use by another program`] as const)
    const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
      ...inUse,
      [{ TEMPORAL_PORT }, `TEMPORAL_PORT ${last} is in use by another program`],
      [{ PORT: other, HOST: otherAddress }, `PORT ${other} is in use`],
      [
        { WORKER_INTERNAL_PORT: other, INTERNAL_HOST: otherAddress },
        `WORKER_INTERNAL_PORT ${other} is in use`,
      ],
      [{ HOST: nowhere }, `listening on HOST ${nowhere} is refused (EADDRNOTAVAIL)`],
      [
        { INTERNAL_HOST: nowhere },
        `listening on INTERNAL_HOST ${nowhere} is refused (EADDRNOTAVAIL)`,
      ],
      [{ PORT: '0' }, 'PORT: '],
      [{ POSTGRES_PORT: '0' }, 'POSTGRES_PORT: '],
      // Temporal's database has no room for larger ones, so its server would not start.
      [{ TEMPORAL_PORT: '32761' }, 'TEMPORAL_PORT: `npm start` needs a port from 1 to 32760'],
    ]
    const said = await refusals(cases.map(([variables]) => variables))
    expect(said).toEqual(cases.map(([, text]) => expect.stringContaining(text)))
  })
})
