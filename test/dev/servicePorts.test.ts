import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { chooseServicePorts } from '../../src/dev/servicePorts.ts'
import { freePort, listenFault } from '../../src/dev/stack/ports.ts'
import { tempFolder } from '../support/tempFolder.ts'

/** An address of this machine other than 127.0.0.1: its ports in use are free on 127.0.0.1. */
const otherAddress = (await listenFault(0, '127.0.0.2')) === undefined ? '127.0.0.2' : '::1'
const anyPorts = { PORT: '0', INTERNAL_PORT: '0', WORKER_INTERNAL_PORT: '0' }

function ports(variables: Readonly<Record<string, string>>) {
  return chooseServicePorts(
    readConfig({ ...anyPorts, DATA_DIR: tempFolder(), ...variables }),
    false,
  )
}

// Concurrent, because a port in use is polled for three seconds.
it.concurrent.for([
  ['PORT', 'HOST'] as const,
  ['INTERNAL_PORT', 'INTERNAL_HOST'] as const,
  ['WORKER_INTERNAL_PORT', 'INTERNAL_HOST'] as const,
])(
  'names %s when its port is in use on the address in %s',
  async ([variable, hostVariable], { onTestFinished }) => {
    const port = await freePort(new Set(), otherAddress)
    const server = createServer().listen(port, otherAddress)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    await expect(ports({ [variable]: String(port), [hostVariable]: otherAddress })).rejects.toThrow(
      `${variable} ${port} is in use by another program`,
    )
  },
)

it.concurrent.for(['HOST', 'INTERNAL_HOST'])(
  'names %s when this machine has no such address',
  async (variable) => {
    // An address for documentation (RFC 5737), which no machine has.
    await expect(ports({ [variable]: '192.0.2.1' })).rejects.toThrow(
      `listening on ${variable} 192.0.2.1 is refused (EADDRNOTAVAIL)`,
    )
  },
)

it('chooses free ports of the hosts that are set', async () => {
  const chosen = await ports({ HOST: otherAddress, INTERNAL_HOST: otherAddress })
  expect(new Set(Object.values(chosen)).size).toBe(4)
})
