import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Linux uses ports from 32768 upwards for outgoing connections. A port below that is more likely to stay
// free.
const portMin = 20_000
const portMax = 32_000
const attemptsMax = 200
/** Temporal's own services use the seven ports after TEMPORAL_PORT. */
const temporalPortCount = 8

/**
 * Returns a port of `host` on which nobody listens, and after it `count` - 1 further ones. Another process
 * may take it before the caller does.
 */
export async function freePort(host = '127.0.0.1', count = 1): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const first = randomInt(portMin, portMax)
    const ports = Array.from({ length: count }, (_, index) => first + index)
    const free = await Promise.all(ports.map((port) => isFree(port, host)))
    if (free.every(Boolean)) return first
  }
  throw new Error(`no ${count} free ports between ${portMin} and ${portMax}`)
}

/** Returns the port variables of a start of `src/dev/main.ts`, with free ports. */
export async function freeStartPorts(): Promise<Readonly<Record<string, string>>> {
  const names = ['PORT', 'INTERNAL_PORT', 'WORKER_INTERNAL_PORT', 'SIMULATOR_PORT', 'POSTGRES_PORT']
  const single = await Promise.all(
    [...names, 'TEMPORAL_UI_PORT'].map(async (name) => [name, String(await freePort())]),
  )
  const temporal = String(await freePort('127.0.0.1', temporalPortCount))
  return { ...Object.fromEntries(single), TEMPORAL_PORT: temporal }
}

/** Whether this process can listen on that port. */
export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, host, () => probe.close(() => resolve(true)))
  })
}
