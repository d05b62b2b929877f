import { once } from 'node:events'
import type { Server } from 'node:http'

/** Gives the port once the server listens (0: a free one). Rejects with the system's error when it cannot. */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Bug: not a TCP listener')
  return address.port
}
