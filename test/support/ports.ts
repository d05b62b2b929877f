import { once } from 'node:events'
import type { Server } from 'node:net'
import { createServer } from 'node:net'

const firstPort = 10_000
/** Ports from 32768 on are those that Linux gives to outgoing connections. */
const lastPort = 32_000
const blockPorts = 50

let block: Promise<{ readonly claim: Server; next: number }> | undefined

/**
 * Returns a port that no other process of this or of another test run chooses. Each process takes ports from a
 * block of its own, and claims the block by listening on its first port until it ends.
 */
export async function freePort(): Promise<number> {
  block ??= claimBlock()
  const ours = await block
  for (let tries = 0; tries < blockPorts; tries += 1) {
    ours.next += 1
    const { port } = addressOf(ours.claim)
    const candidate = port + 1 + (ours.next % (blockPorts - 1))
    const server = await tryListen(candidate)
    if (server === undefined) continue
    server.close()
    await once(server, 'close')
    return candidate
  }
  throw new Error('every port of this process is in use')
}

/** Returns the first of `count` ports in a row that are free and that no other test run chooses. */
export async function freePortRow(count: number): Promise<number> {
  const { claim } = await claimBlock()
  if (count >= blockPorts) throw new Error(`at most ${blockPorts - 1} ports in a row`)
  return addressOf(claim).port + 1
}

async function claimBlock(): Promise<{ readonly claim: Server; next: number }> {
  const blocks = Math.floor((lastPort - firstPort) / blockPorts)
  const start = Math.floor(Math.random() * blocks)
  for (let tries = 0; tries < blocks; tries += 1) {
    const port = firstPort + ((start + tries) % blocks) * blockPorts
    const claim = await tryListen(port)
    if (claim === undefined) continue
    claim.unref()
    return { claim, next: 0 }
  }
  throw new Error('no free block of ports')
}

function tryListen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server))
  })
}

function addressOf(server: Server): { readonly port: number } {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address
}
