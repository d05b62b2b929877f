import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ProcessIdentity } from '../../../tools/processIdentity.mjs'

/**
 * Starts the process that ends the stack's parts if this one is killed; see watchdog.ts. Call
 * `release` after a clean stop.
 *
 * @param removeDataDir also remove DATA_DIR afterwards, for tests.
 */
export const startWatchdog = (
  dataDir: string,
  owner: ProcessIdentity,
  { removeDataDir }: { removeDataDir: boolean },
): { release: () => void } => {
  const watchdog = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('./watchdog.ts', import.meta.url)),
      dataDir,
      String(owner.pid),
      owner.start,
      ...(removeDataDir ? ['remove'] : []),
    ],
    // A group of its own: a kill of ours must not reach it.
    { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env: {} },
  )
  // Without a watchdog the next start cleans up, so its failure is not ours.
  watchdog.on('error', () => undefined)
  watchdog.stdin.on('error', () => undefined)
  watchdog.unref()
  return { release: () => watchdog.stdin.end() }
}
