import { readFileSync } from 'node:fs'
import type { Logger } from './logger.ts'

/** Tries of webhooks, connections to PostgreSQL, Temporal and the blob store, and the files of Node itself. */
export const otherOpenFiles = 1024

/**
 * Logs one line when this process may need more open files and connections than the system lets it have. Beyond that
 * limit (RLIMIT_NOFILE) connections would fail one by one, and nothing would name the reason. Node has raised the limit
 * at its start as far as it may. Only Linux tells it.
 */
export function warnOfOpenFiles(log: Pick<Logger, 'warn'>, needed: number): void {
  const limit = softLimit()
  if (limit >= needed) return
  log.warn(
    `open files and connections: the limit is ${limit}, and up to ${needed} may be needed. Raise it to ${needed}` +
      ' (ulimit -n, LimitNOFILE of systemd, nofile of Docker)',
  )
}

function softLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Infinity)
  } catch {
    return Infinity
  }
}
