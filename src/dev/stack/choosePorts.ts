import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { freePort, listenFault, loopbackHost } from './freePort.ts'
import { startFailure } from './startFailure.ts'

/** A port that a part listens on. */
export type PortWish = {
  /** The name under which a chosen port is kept. */
  name: string
  /** 0: any free port, the same again at the next start where possible. */
  port: number
  /** The environment variable that sets it; absent for ports that nobody outside needs to know. */
  variable?: string
  /** Where it listens, and the environment variable that says so; absent: 127.0.0.1, always. */
  host?: { address: string; variable: string }
}

/**
 * Settles the ports of the parts before anything is started. Chosen ports are kept in
 * DATA_DIR/ports.json: Temporal's members find one another by address, and stale members of another
 * address delay a start. Throws a start failure naming the variable of a port in use, or of a host that is not ours.
 */
export const choosePorts = async <Name extends string>(
  dataDir: string,
  wishes: readonly (PortWish & { name: Name })[],
): Promise<(name: Name) => number> => {
  const path = join(dataDir, 'ports.json')
  const kept = await readKept(path)
  const taken = new Set(wishes.map((wish) => wish.port))
  const chosen = new Map<Name, number>()
  const toKeep = { ...kept }
  for (const wish of wishes) {
    await requireListenable(wish)
    const port = wish.port === 0 ? await keptOrFree(kept[wish.name], taken, wish) : wish.port
    if (wish.port === 0) toKeep[wish.name] = port
    taken.add(port)
    chosen.set(wish.name, port)
  }
  await writeKept(path, toKeep)
  return (name) => {
    const port = chosen.get(name)
    if (port === undefined) throw new Error(`no port was asked for ${name}`)
    return port
  }
}

const requireListenable = async ({ name, port, variable, host }: PortWish): Promise<void> => {
  const address = host?.address ?? loopbackHost
  const fault = await listenFault(port, address)
  if (fault === undefined) return
  const what = variable ?? `the port of ${name}`
  if (fault === 'EADDRINUSE') {
    throw startFailure(
      `${what} ${port} is in use by another program. Stop that program, or set ${what} to a free port.`,
    )
  }
  // An address of another machine, a name that is none, or a port that only root may have.
  const where = host === undefined ? address : `${host.variable} ${address}`
  throw startFailure(
    `${what} ${port}: listening on ${where} is refused (${fault}). Set ` +
      `${host === undefined ? what : `${host.variable} or ${what}`} to what this machine allows.`,
  )
}

const keptOrFree = async (
  kept: number | undefined,
  taken: ReadonlySet<number>,
  { host }: PortWish,
): Promise<number> => {
  const address = host?.address ?? loopbackHost
  const isKept =
    kept !== undefined && !taken.has(kept) && (await listenFault(kept, address)) === undefined
  return isKept ? kept : freePort(taken, address)
}

const readKept = async (path: string): Promise<Record<string, number>> => {
  try {
    const kept: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (typeof kept !== 'object' || kept === null) return {}
    return Object.fromEntries(
      Object.entries(kept).flatMap(([name, port]: [string, unknown]) =>
        typeof port === 'number' && Number.isInteger(port) ? [[name, port]] : [],
      ),
    )
  } catch {
    // Absent at the first start; if it is damaged, fresh ports cost a slower start and nothing else.
    return {}
  }
}

const writeKept = async (path: string, ports: Record<string, number>): Promise<void> => {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.new`, `${JSON.stringify(ports, null, 2)}\n`)
  await rename(`${path}.new`, path)
}
