import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { HeldLock } from '../../tools/fileLock.mjs'
import { tryLock, waitForLock } from '../../tools/fileLock.mjs'
import { processStart } from '../../tools/processIdentity.mjs'
import { tempFolder } from '../support/tempFolder.ts'

function held(taken: HeldLock | { readonly heldBy: number }): HeldLock {
  if ('heldBy' in taken) throw new Error(`held by ${taken.heldBy}`)
  return taken
}

it('names its holder, and can be taken after the holder has released it', () => {
  const path = join(tempFolder(), 'lock')
  const lock = held(tryLock(path))
  expect(tryLock(path)).toEqual({ heldBy: process.pid })
  lock.release()
  held(tryLock(path)).release()
})

it('is held by one waiter at a time', async () => {
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

it('is free when its holder was killed', async () => {
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

it('is free when the process id of its holder now belongs to another process', () => {
  const path = join(tempFolder(), 'lock')
  writeFileSync(path, JSON.stringify({ pid: process.pid, start: 'before a reboot' }))
  expect(tryLock(path)).toHaveProperty('release')
})
