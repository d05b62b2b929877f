import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'

export type CuttableWay = Awaited<ReturnType<typeof openCuttableWay>>

/** Opens a port of 127.0.0.1 that leads to the server at `address` (HOST:PORT) until it is cut. */
export async function openCuttableWay(address: string) {
  const [host = '', port = ''] = address.split(':')
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(Number(port), host)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
      from.pipe(to)
    }
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    address: `127.0.0.1:${Object(server.address()).port}`,
    /** Ends all connections and refuses new ones, or lets them through again. */
    cut: (cut: boolean) => {
      isCut = cut
      if (cut) endAll()
    },
    close: () => {
      endAll()
      server.close()
    },
  }
}
