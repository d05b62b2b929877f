import { randomInt } from 'node:crypto'
import type { Socket } from 'node:dgram'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { StartError } from './startError.ts'

/** A port on which a process of the stack or of the service will listen. */
export type PortWish<Name extends string = string> = {
  /** The name of the port in DATA_DIR/ports.json, where chosen ports are kept. */
  readonly name: Name
  /**
   * The wanted port. 0 means any free port. The next start chooses the same port again if it is still free.
   */
  readonly port: number
  /** The environment variable that sets the port. Temporal's inner ports have none. */
  readonly variable?: string
  /** The listen address, and the environment variable that sets it. When absent, the address is 127.0.0.1. */
  readonly host?: { readonly address: string; readonly variable: string }
}

// The range of ports to choose from. Linux uses ports from 32768 upwards for outgoing connections. A port
// below that is more likely to be still free at the next start.
const portMin = 20_000
const portMax = 32_000
const attemptsMax = 200
const loopbackHost = '127.0.0.1'

/**
 * Chooses every port before any process starts, and returns a function from name to port. Keeps the chosen
 * ports in DATA_DIR/ports.json, because Temporal's services find each other by address. With other ports, a
 * new start would wait for services that Temporal's database still lists under the old addresses. Throws
 * `StartError` when a port is in use, or when this machine does not have the address. The message names the
 * variable to change.
 */
export async function choosePorts<Name extends string>(
  dataDir: string,
  wishes: readonly PortWish<Name>[],
): Promise<(name: Name) => number> {
  const path = join(dataDir, 'ports.json')
  const kept = await readKeptPorts(path)
  const taken = new Set(wishes.map((wish) => wish.port))
  const chosen = new Map<Name, number>()
  // The service and the stack choose their ports in separate calls, and both keep them in this file. A new free port
  // must be none of these.
  const reserved = new Set(Object.values(kept))
  const toKeep = { ...kept }
  for (const wish of wishes) {
    await requireListenable(wish)
    const port =
      wish.port === 0 ? await keptOrFree(kept[wish.name], { taken, reserved, wish }) : wish.port
    if (wish.port === 0) toKeep[wish.name] = port
    taken.add(port)
    chosen.set(wish.name, port)
  }
  await writeKeptPorts(path, toKeep)
  return (name) => {
    const port = chosen.get(name)
    if (port === undefined) throw new Error(`Bug: no port was chosen for ${name}`)
    return port
  }
}

async function requireListenable({ name, port, variable, host }: PortWish): Promise<void> {
  const address = host?.address ?? loopbackHost
  const fault = await listenFault(port, address)
  if (fault === undefined) return
  const what = variable ?? `the port of ${name}`
  if (fault === 'EADDRINUSE') {
    throw new StartError(
      `${what} ${port} is in use by another program. Stop that program, or set ${what} to a free port.`,
    )
  }
  // Possible reasons: the address belongs to another machine, the host name is unknown, or only root may use
  // the port.
  const where = host === undefined ? address : `${host.variable} ${address}`
  throw new StartError(
    `${what} ${port}: listening on ${where} is refused (${fault}). Set ` +
      `${host === undefined ? what : `${host.variable} or ${what}`} to a value that this machine allows.`,
  )
}

async function keptOrFree(
  kept: number | undefined,
  given: {
    readonly taken: ReadonlySet<number>
    readonly reserved: ReadonlySet<number>
    readonly wish: PortWish
  },
): Promise<number> {
  const { taken, reserved, wish } = given
  const address = wish.host?.address ?? loopbackHost
  const isKeptFree =
    kept !== undefined &&
    !taken.has(kept) &&
    (await listenFault(kept, address)) === undefined &&
    (await claim(kept))
  return isKeptFree ? kept : freePort(new Set([...taken, ...reserved]), address)
}

/**
 * Returns a port of `host` on which no process listens, which is not in `taken`, and which nobody has chosen before,
 * neither this process nor another one that still runs.
 */
export async function freePort(
  taken: ReadonlySet<number> = new Set(),
  host: string = loopbackHost,
): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const port = randomInt(portMin, portMax)
    if (taken.has(port) || claims.has(port)) continue
    if ((await listenFault(port, host)) !== undefined) continue
    if (await claim(port)) return port
  }
  throw new Error(`no free port between ${portMin} and ${portMax}`)
}

const claims = new Map<number, Socket>()

/**
 * Claims a port for this process, until it ends. Returns false when another process has claimed it. Seconds pass
 * between the choice of a TCP port and the start of the process that listens on it. Without a claim, another stack
 * that starts on this machine meanwhile may choose the same port. The claim is a UDP socket on the same port: the
 * TCP port stays free, and the system drops the claim with the process.
 */
async function claim(port: number): Promise<boolean> {
  if (claims.has(port)) return true
  const socket = createSocket('udp4').unref()
  try {
    const bound = once(socket, 'listening')
    socket.bind({ port, address: loopbackHost })
    await bound
  } catch (error) {
    socket.close()
    // Without UDP there are no claims.
    return !(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
  }
  claims.set(port, socket)
  return true
}

/** Returns the system's error code when a server cannot listen on that port, and `undefined` when it can. */
export function listenFault(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, host, () => probe.close(() => resolve(undefined)))
  })
}

async function readKeptPorts(path: string): Promise<Readonly<Record<string, number>>> {
  try {
    const kept: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (typeof kept !== 'object' || kept === null) return {}
    return Object.fromEntries(
      Object.entries(kept).flatMap(([name, port]: [string, unknown]) =>
        typeof port === 'number' && Number.isInteger(port) ? [[name, port]] : [],
      ),
    )
  } catch {
    // At the first start there is no file. If the file cannot be read, new ports are chosen, which only makes
    // the start slower.
    return {}
  }
}

async function writeKeptPorts(
  path: string,
  ports: Readonly<Record<string, number>>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.new`, `${JSON.stringify(ports, null, 2)}\n`)
  await rename(`${path}.new`, path)
}
