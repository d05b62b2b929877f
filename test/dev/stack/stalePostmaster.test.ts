import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { clearStalePostmaster } from '../../../src/dev/stack/stalePostmaster.ts'
import { tempFolder } from '../../support/tempFolder.ts'

const startIn = async (cwd: string) => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore', cwd })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child
}

it('removes a postmaster.pid whose number now belongs to another program, and spares that', async () => {
  const pgData = tempFolder()
  const other = await startIn('/')
  writeFileSync(join(pgData, 'postmaster.pid'), `${other.pid}\n${pgData}\n`)
  await clearStalePostmaster(pgData)
  expect(existsSync(join(pgData, 'postmaster.pid'))).toBe(false)
  expect(other.kill(0)).toBe(true)
})

it('ends a postmaster that still works in the data folder', async () => {
  const pgData = tempFolder()
  const postmaster = await startIn(pgData)
  const ended = once(postmaster, 'exit')
  writeFileSync(join(pgData, 'postmaster.pid'), `${postmaster.pid}\n${pgData}\n`)
  await clearStalePostmaster(pgData)
  expect(await ended).toEqual([null, 'SIGINT'])
})

it('keeps the file of a dead postmaster, by which PostgreSQL finds lingering backends', async () => {
  const pgData = tempFolder()
  const dead = await startIn('/')
  dead.kill('SIGKILL')
  await once(dead, 'exit')
  writeFileSync(join(pgData, 'postmaster.pid'), `${dead.pid}\n${pgData}\n`)
  await clearStalePostmaster(pgData)
  expect(existsSync(join(pgData, 'postmaster.pid'))).toBe(true)
})
