// node watchdog.ts DATA_DIR OWNER_PID OWNER_START [remove]
//
// Runs next to the process that started the stack (the owner) and ends the parts when the owner is killed.
// Its standard input is a pipe that the system closes when the owner ends.
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { ProcessIdentity } from '../../../tools/processIdentity.mjs'
import { stopLingering } from './stopLingering.ts'

const script = fileURLToPath(import.meta.url)

export type Watchdog = {
  /** Ends the watchdog. Call this when all parts have ended. */
  readonly release: () => void
}

/**
 * Starts the watchdog of the parts that `owner` starts in this DATA_DIR.
 *
 * @param removeDataDir also removes DATA_DIR, after `release` or when `owner` has ended. For tests.
 */
export function startWatchdog(
  dataDir: string,
  owner: ProcessIdentity,
  { removeDataDir }: { readonly removeDataDir: boolean },
): Watchdog {
  const args = [dataDir, String(owner.pid), owner.start, ...(removeDataDir ? ['remove'] : [])]
  // The watchdog has its own process group, because a SIGKILL to the owner's group must not reach it.
  const watchdog = spawn(process.execPath, [script, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: {},
  })
  // A failure here does not stop the start, because without a watchdog the next start ends the old parts.
  watchdog.on('error', () => undefined)
  watchdog.stdin.on('error', () => undefined)
  watchdog.unref()
  return { release: () => watchdog.stdin.end() }
}

async function watch(args: readonly string[]): Promise<void> {
  const [dataDir, ownerPid, ownerStart, afterwards] = args
  if (dataDir === undefined || ownerPid === undefined || ownerStart === undefined) {
    throw new Error('usage: node watchdog.ts DATA_DIR OWNER_PID OWNER_START [remove]')
  }
  // A terminal that closes sends signals to its processes. The watchdog ignores them, because it must live
  // longer than the owner.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.stdin.resume()
  await new Promise((resolve) => {
    for (const event of ['end', 'error', 'close']) process.stdin.once(event, resolve)
  })
  await stopLingering(dataDir, { pid: Number(ownerPid), start: ownerStart })
  if (afterwards === 'remove') await rm(dataDir, { recursive: true, force: true })
  process.exit(0)
}

if (process.argv[1] === script) await watch(process.argv.slice(2))
