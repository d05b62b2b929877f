import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createPidRecord, ownIdentity } from '../../../src/dev/stack/pidRecord.ts'
import { stopLingering } from '../../../src/dev/stack/stopLingering.ts'
import { tempFolder } from '../../support/tempFolder.ts'

async function startSleeper() {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return { child, pid: child.pid ?? 0 }
}

it('ends the processes that a killed start has recorded, and removes the record', async () => {
  const folder = tempFolder()
  const { child, pid } = await startSleeper()
  const ended = once(child, 'exit')
  createPidRecord(folder, ownIdentity()).add({ name: 'part', pid, lostSignal: 'SIGINT' })
  expect(await stopLingering(folder)).toEqual(['part'])
  expect(await ended).toEqual([null, 'SIGINT'])
  expect(existsSync(join(folder, 'pids.json'))).toBe(false)
})

it('does not end another process that has got a recorded process id', async () => {
  const folder = tempFolder()
  const { child, pid } = await startSleeper()
  const part = { name: 'part', pid, start: 'before a reboot', lostSignal: 'SIGKILL' }
  const record = { owner: { pid: 1, start: 'then' }, parts: [part] }
  writeFileSync(join(folder, 'pids.json'), JSON.stringify(record))
  expect(await stopLingering(folder)).toEqual([])
  expect(child.exitCode ?? child.signalCode).toBeNull()
  expect(child.kill(0)).toBe(true)
})

it('does not end the parts of the next start when the watchdog of a killed start is late', async () => {
  const folder = tempFolder()
  const { child, pid } = await startSleeper()
  createPidRecord(folder, ownIdentity()).add({ name: 'part', pid, lostSignal: 'SIGKILL' })
  expect(await stopLingering(folder, { pid: process.pid, start: 'an earlier one' })).toEqual([])
  expect(child.kill(0)).toBe(true)
})
