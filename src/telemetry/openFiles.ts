import { readFileSync } from 'node:fs'
import type { Channel } from '../domain/upstream/channel.ts'
import { slotsOf } from '../domain/upstream/channel.ts'
import type { Logger } from './logger.ts'

/**
 * For one upstream call: its connection, the file of a large answer, and a file or a connection of the blob store.
 */
const openFilesPerCall = 3
/** Tries of webhooks, connections to PostgreSQL, Temporal and the blob store, and the files of Node itself. */
const otherOpenFiles = 1024

/** Returns how many files and connections a worker may have open at once. */
export function openFilesOfWorker(channels: readonly Channel[]): number {
  const { A, B } = slotsOf(channels)
  return openFilesPerCall * (A + B) + otherOpenFiles
}

/** The same for an API with places for `waitersMax` waiters. It answers up to 1,000 other requests, each with a blob. */
export function openFilesOfApi(waitersMax: number): number {
  return waitersMax + 2 * 1_000 + otherOpenFiles
}

/**
 * Logs one line when this process may need more open files and connections than the system lets it have. Beyond that
 * limit (RLIMIT_NOFILE) connections would fail one by one, and nothing would name the reason.
 */
export function warnOfOpenFiles(log: Pick<Logger, 'warn'>, needed: number): void {
  const limit = openFilesMax()
  if (limit === undefined || limit >= needed) return
  log.warn(
    `open files and connections: the limit is ${limit}, and up to ${needed} may be needed. Raise it to ${needed}` +
      ' (ulimit -n, LimitNOFILE of systemd, nofile of Docker)',
  )
}

/** Returns the limit. Node has raised it at its start as far as it may. Returns `undefined` except on Linux. */
function openFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
