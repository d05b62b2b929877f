import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * Opens a way to PostgreSQL until the end of the test. It can lose all bytes, also those of new connections, as a network
 * does, or a server that takes bytes and answers nothing.
 */
export async function openLossyWay(databaseUrl: string) {
  const sockets: Socket[] = []
  let losing = false
  let lostConnections = 0
  const server = createServer((client) => {
    if (losing) lostConnections += 1
    const upstream = connect(Number(new URL(databaseUrl).port), '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.push(from)
      from.on('error', () => {}).on('data', (bytes) => void (losing || to.write(bytes)))
    }
    client.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${Object(server.address()).port}`
  return {
    url: url.href,
    lose: (value: boolean) => void (losing = value),
    lostConnections: () => lostConnections,
  }
}
