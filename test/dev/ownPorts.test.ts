import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { ownPorts } from '../../src/dev/ownPorts.ts'
import { freePort, listenFault } from '../../src/dev/stack/freePort.ts'
import { tempFolder } from '../support/tempFolder.ts'

/** A second address of this machine, where a port in use is free on 127.0.0.1. */
const elsewhere = (await listenFault(0, '127.0.0.2')) === undefined ? '127.0.0.2' : '::1'
const anyPorts = { PORT: '0', INTERNAL_PORT: '0', WORKER_INTERNAL_PORT: '0' }

function ports(variables: Readonly<Record<string, string>>) {
  return ownPorts(readConfig({ ...anyPorts, DATA_DIR: tempFolder(), ...variables }), false)
}

// Side by side, since a port in use is looked at for some seconds.
it.concurrent.for([
  ['PORT', 'HOST'] as const,
  ['INTERNAL_PORT', 'INTERNAL_HOST'] as const,
  ['WORKER_INTERNAL_PORT', 'INTERNAL_HOST'] as const,
])(
  'names %s when it is in use where %s says',
  async ([variable, hostVariable], { onTestFinished }) => {
    const port = await freePort(new Set(), elsewhere)
    const server = createServer().listen(port, elsewhere)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    await expect(ports({ [variable]: String(port), [hostVariable]: elsewhere })).rejects.toThrow(
      `${variable} ${port} is in use by another program`,
    )
  },
)

it.concurrent.for(['HOST', 'INTERNAL_HOST'])(
  'names %s when it is no address of ours',
  async (variable) => {
    // Documentation addresses (RFC 5737) belong to nobody.
    await expect(ports({ [variable]: '192.0.2.1' })).rejects.toThrow(
      `listening on ${variable} 192.0.2.1 is refused (EADDRNOTAVAIL)`,
    )
  },
)

it('settles free ports of the hosts that are set', async () => {
  const settled = await ports({ HOST: elsewhere, INTERNAL_HOST: elsewhere })
  expect(new Set(Object.values(settled)).size).toBe(4)
})
