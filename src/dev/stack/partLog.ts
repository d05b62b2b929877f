import { mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A larger log is set aside at the next start; one older log is kept. */
const logBytesMax = 16 * 1024 * 1024
const tailLines = 12

/** Where the output of a part goes. */
export const partLogPath = (dataDir: string, part: string): string =>
  join(dataDir, 'logs', `${part}.log`)

/** Opens the log of a part for appending and returns its descriptor, which the caller closes. */
export const openPartLog = (path: string): number => {
  mkdirSync(dirname(path), { recursive: true })
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > logBytesMax) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** The last lines of a log, for an error message; empty when there is none. */
export const logTail = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-tailLines).join('\n')
  } catch {
    return ''
  }
}
