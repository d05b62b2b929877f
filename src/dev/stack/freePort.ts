import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the range from which systems take the source ports of outgoing connections (from 32768 on
// Linux): a port chosen here is still free at the next start.
const portMin = 20_000
const portMax = 32_000
const attemptsMax = 200

/** Whether a server could listen on 127.0.0.1 at that port now. */
export const isPortFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A port of 127.0.0.1 that nobody listens on and that is not in `taken`. */
export const freePort = async (taken: ReadonlySet<number> = new Set()): Promise<number> => {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const port = randomInt(portMin, portMax)
    if (!taken.has(port) && (await isPortFree(port))) return port
  }
  throw new Error(`no free port between ${portMin} and ${portMax}`)
}
