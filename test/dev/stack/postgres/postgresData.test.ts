import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  clearStalePostmaster,
  postgresPassword,
} from '../../../../src/dev/stack/postgres/postgresData.ts'
import { tempFolder } from '../../../support/tempFolder.ts'

async function startIn(cwd: string) {
  const child = spawn('sleep', ['60'], { stdio: 'ignore', cwd })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child
}

describe('the postmaster.pid of an earlier start', () => {
  it('is removed when its number now belongs to another program, which keeps running', async () => {
    const pgData = tempFolder()
    const other = await startIn('/')
    writeFileSync(join(pgData, 'postmaster.pid'), `${other.pid}\n${pgData}\n`)
    await clearStalePostmaster(pgData)
    expect(existsSync(join(pgData, 'postmaster.pid'))).toBe(false)
    expect(other.kill(0)).toBe(true)
  })

  it('ends a postmaster that still runs on the data folder', async () => {
    const pgData = tempFolder()
    const postmaster = await startIn(pgData)
    const ended = once(postmaster, 'exit')
    writeFileSync(join(pgData, 'postmaster.pid'), `${postmaster.pid}\n${pgData}\n`)
    await clearStalePostmaster(pgData)
    expect(await ended).toEqual([null, 'SIGINT'])
  })

  it('stays when its postmaster is dead, because PostgreSQL finds lingering backends by it', async () => {
    const pgData = tempFolder()
    const dead = await startIn('/')
    dead.kill('SIGKILL')
    await once(dead, 'exit')
    writeFileSync(join(pgData, 'postmaster.pid'), `${dead.pid}\n${pgData}\n`)
    await clearStalePostmaster(pgData)
    expect(existsSync(join(pgData, 'postmaster.pid'))).toBe(true)
  })
})

describe('the password of the embedded PostgreSQL', () => {
  it('is generated when a crash has left an empty file', async () => {
    const dataDir = tempFolder()
    writeFileSync(join(dataDir, 'postgres-password'), '')
    const made = await postgresPassword(dataDir, join(dataDir, 'postgres'))
    expect(made).toMatch(/^[0-9a-f]{48}$/)
    expect(await postgresPassword(dataDir, join(dataDir, 'postgres'))).toBe(made)
  })

  it('must be restored when its file is empty and the data exists', async () => {
    const dataDir = tempFolder()
    writeFileSync(join(dataDir, 'postgres-password'), '')
    writeFileSync(join(dataDir, 'PG_VERSION'), '18')
    await expect(postgresPassword(dataDir, dataDir)).rejects.toThrow('is missing or empty')
  })
})
