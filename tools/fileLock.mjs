// A lock between the processes of one machine: a file that names its holder. A lock whose holder has ended
// is free. No dependencies. Runs on Node 20 and later.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSameProcessAlive, processStart } from './processIdentity.mjs'

const pollMs = 100
/** Another process may take the lock between the removal of an ended holder's file and our attempt. */
const attemptsMax = 3

/** See fileLock.d.mts. */
export function tryLock(path) {
  mkdirSync(dirname(path), { recursive: true })
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (create(path)) return { release: () => releaseOwn(path) }
    const seen = read(path)
    if (seen === undefined) continue
    const holder = parse(seen)
    if (holder !== undefined && isSameProcessAlive(holder)) return { heldBy: holder.pid }
    removeIfUnchanged(path, seen)
  }
  return { heldBy: parse(read(path) ?? '')?.pid ?? 0 }
}

/** See fileLock.d.mts. */
export async function waitForLock(path, { timeoutMs, onWait }) {
  const endsAtMs = Date.now() + timeoutMs
  let hasReported = false
  for (;;) {
    const taken = tryLock(path)
    if ('release' in taken) return taken
    if (Date.now() >= endsAtMs) {
      throw new Error(`${path} is still held by process ${taken.heldBy} after ${timeoutMs} ms`)
    }
    if (!hasReported) onWait?.(taken.heldBy)
    hasReported = true
    await sleep(pollMs)
  }
}

function ownText() {
  return `${JSON.stringify({ pid: process.pid, start: processStart(process.pid) })}\n`
}

// Writes a draft and links it to the path, so that no process reads a half-written lock.
function create(path) {
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(draft, ownText())
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function parse(text) {
  try {
    const { pid, start } = JSON.parse(text)
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : undefined
  } catch {
    return undefined
  }
}

// Renames the file before removing it. When another process has taken the lock since `seen` was read, the
// renamed file is that process's lock, and it is linked back.
function removeIfUnchanged(path, seen) {
  const aside = `${path}.aside.${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (read(aside) !== seen) {
    try {
      linkSync(aside, path)
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
  }
  rmSync(aside, { force: true })
}

function releaseOwn(path) {
  if (read(path) === ownText()) rmSync(path, { force: true })
}
