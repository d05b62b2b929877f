import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createPidRecord, ownIdentity } from '../../../src/dev/stack/pidRecord.ts'
import { stopLingering } from '../../../src/dev/stack/stopLingering.ts'
import { tempFolder } from '../../support/tempFolder.ts'

const startSleeper = async () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return { child, pid: child.pid ?? 0 }
}

it('ends the processes that a killed start had recorded, and forgets them', async () => {
  const folder = tempFolder()
  const { child, pid } = await startSleeper()
  const ended = once(child, 'exit')
  createPidRecord(folder, ownIdentity()).add({ name: 'part', pid, lostSignal: 'SIGINT' })
  expect(await stopLingering(folder)).toEqual(['part'])
  expect(await ended).toEqual([null, 'SIGINT'])
  expect(existsSync(join(folder, 'pids.json'))).toBe(false)
})

it('leaves a process alone that got the recorded pid later', async () => {
  const folder = tempFolder()
  const { child, pid } = await startSleeper()
  const part = { name: 'part', pid, start: 'before a reboot', lostSignal: 'SIGKILL' }
  const record = { owner: { pid: 1, start: 'then' }, parts: [part] }
  writeFileSync(join(folder, 'pids.json'), JSON.stringify(record))
  await stopLingering(folder)
  expect(child.exitCode ?? child.signalCode).toBeNull()
  expect(child.kill(0)).toBe(true)
})

it('leaves the parts of the next start alone when the watchdog of the last one is late', async () => {
  const folder = tempFolder()
  const { child, pid } = await startSleeper()
  createPidRecord(folder, ownIdentity()).add({ name: 'part', pid, lostSignal: 'SIGKILL' })
  expect(await stopLingering(folder, { pid: process.pid, start: 'an earlier one' })).toEqual([])
  expect(child.kill(0)).toBe(true)
})
