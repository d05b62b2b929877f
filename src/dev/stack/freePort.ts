import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the range from which systems take the source ports of outgoing connections (from 32768 on
// Linux): a port chosen here is still free at the next start.
const portMin = 20_000
const portMax = 32_000
const attemptsMax = 200

export const loopbackHost = '127.0.0.1'

/** Why no server could listen on that port of that host now, by the system's code; `undefined`: it could. */
export const listenFault = (port: number, host: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, host, () => probe.close(() => resolve(undefined)))
  })

/** A port of that host that nobody listens on and that is not in `taken`. */
export const freePort = async (
  taken: ReadonlySet<number> = new Set(),
  host: string = loopbackHost,
): Promise<number> => {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const port = randomInt(portMin, portMax)
    if (!taken.has(port) && (await listenFault(port, host)) === undefined) return port
  }
  throw new Error(`no free port between ${portMin} and ${portMax}`)
}
