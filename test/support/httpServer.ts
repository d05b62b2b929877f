import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { Server } from 'node:net'
import { onTestFinished } from 'vitest'

/** An HTTP server of the running test's own, on a free port; gives its address. */
export async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${await portOf(server)}`
}

/** Starts the server on a free port of 127.0.0.1. */
export async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error('Bug: a TCP server has a port')
  return address.port
}
