import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tryLock, waitForLock } from '../../tools/fileLock.mjs'
import type { HeldLock } from '../../tools/fileLock.mjs'
import { processStart } from '../../tools/processIdentity.mjs'
import { tempFolder } from '../support/tempFolder.ts'

const held = (taken: HeldLock | { heldBy: number }): HeldLock => {
  if ('heldBy' in taken) throw new Error(`held by ${taken.heldBy}`)
  return taken
}

it('names the process that holds the lock, and can be taken once it is released', () => {
  const path = join(tempFolder(), 'lock')
  const lock = held(tryLock(path))
  expect(tryLock(path)).toEqual({ heldBy: process.pid })
  lock.release()
  held(tryLock(path)).release()
})

it('lets waiters in one after the other', async () => {
  const path = join(tempFolder(), 'lock')
  let inside = 0
  let insideMax = 0
  const work = async (): Promise<void> => {
    const lock = await waitForLock(path, { timeoutMs: 20_000 })
    inside += 1
    insideMax = Math.max(insideMax, inside)
    await new Promise((resolve) => setImmediate(resolve))
    inside -= 1
    lock.release()
  }
  await Promise.all([work(), work(), work()])
  expect(insideMax).toBe(1)
})

it('is taken over from a holder that was killed', async () => {
  const path = join(tempFolder(), 'lock')
  const holder = spawn('sleep', ['60'], { stdio: 'ignore' })
  await once(holder, 'spawn')
  const pid = holder.pid ?? 0
  writeFileSync(path, JSON.stringify({ pid, start: processStart(pid) }))
  expect(tryLock(path)).toEqual({ heldBy: pid })
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  held(tryLock(path)).release()
})

it('is taken over when the pid of the holder belongs to another process by now', () => {
  const path = join(tempFolder(), 'lock')
  writeFileSync(path, JSON.stringify({ pid: process.pid, start: 'before a reboot' }))
  expect(tryLock(path)).toHaveProperty('release')
})
