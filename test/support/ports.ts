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

/** Returns the port variables of a start of `src/dev/main.ts`, with ports of a block of its own. */
export async function freeStartPorts() {
  const { claim } = await claimBlock()
  const first = addressOf(claim).port + 1
  return {
    // Temporal's own services use the seven ports after TEMPORAL_PORT.
    TEMPORAL_PORT: String(first),
    TEMPORAL_UI_PORT: String(first + 8),
    POSTGRES_PORT: String(first + 9),
    PORT: String(first + 10),
    INTERNAL_PORT: String(first + 11),
    WORKER_INTERNAL_PORT: String(first + 12),
    SIMULATOR_PORT: String(first + 13),
    ADMIN_PORT: String(first + 14),
  }
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

/** Returns whether this process can listen on a port of an address. */
export async function isFree(port: number, host: string): Promise<boolean> {
  const server = await tryListen(port, host)
  server?.close()
  return server !== undefined
}

function tryListen(port: number, host = '127.0.0.1'): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host, exclusive: true }, () => resolve(server))
  })
}

function addressOf(server: Server): { readonly port: number } {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address
}
