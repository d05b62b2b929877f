// A lock between processes of one machine: a file naming its holder. A holder that died, however
// suddenly, holds nothing. No dependencies; runs on every Node from 20.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSameProcessAlive, processStart } from './processIdentity.mjs'

/** How often a waiter looks again. */
const pollMs = 100

/**
 * Takes the lock at once, or says who has it.
 * @param {string} path
 * @returns {{ release: () => void } | { heldBy: number }}
 */
export const tryLock = (path) => {
  mkdirSync(dirname(path), { recursive: true })
  // A dead holder's file is removed and the taking tried again; twice, as another may be quicker.
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if (create(path)) return { release: () => releaseOwn(path) }
    const seen = read(path)
    if (seen === undefined) continue
    const holder = parse(seen)
    if (holder !== undefined && isSameProcessAlive(holder)) return { heldBy: holder.pid }
    removeIfStill(path, seen)
  }
  return { heldBy: parse(read(path) ?? '')?.pid ?? 0 }
}

/**
 * Waits for the lock. Throws when `timeoutMs` have passed.
 * @param {string} path
 * @param {{ timeoutMs: number, onWait?: (heldBy: number) => void }} options onWait is called once
 * @returns {Promise<{ release: () => void }>}
 */
export const waitForLock = async (path, { timeoutMs, onWait }) => {
  const giveUpAt = Date.now() + timeoutMs
  let told = false
  for (;;) {
    const taken = tryLock(path)
    if ('release' in taken) return taken
    if (Date.now() >= giveUpAt) {
      throw new Error(`${path} is still held by process ${taken.heldBy} after ${timeoutMs} ms`)
    }
    if (!told) onWait?.(taken.heldBy)
    told = true
    await sleep(pollMs)
  }
}

const ownText = () => `${JSON.stringify({ pid: process.pid, start: processStart(process.pid) })}\n`

// Written beside and linked into place: nobody ever reads a half-written lock.
const create = (path) => {
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

const read = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

const parse = (text) => {
  try {
    const { pid, start } = JSON.parse(text)
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : undefined
  } catch {
    return undefined
  }
}

// Moved aside before it is removed: if someone quicker had already replaced the dead holder's file
// with his own, what we moved is his, and goes back.
const removeIfStill = (path, seen) => {
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

const releaseOwn = (path) => {
  if (read(path) === ownText()) rmSync(path, { force: true })
}
