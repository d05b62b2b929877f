import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { withPostgres } from '../../../src/dev/stack/postgres/postgresClient.ts'
import { readPidRecord } from '../../../src/dev/stack/pidRecord.ts'
import { isSameProcessAlive, processStart } from '../../../tools/processIdentity.mjs'
import { tempFolder } from '../../support/tempFolder.ts'
import { until } from '../../support/timing.ts'

const script = fileURLToPath(new URL('../../support/stack/runPostgresStack.ts', import.meta.url))
const readySchema = z.object({ databaseUrl: z.string(), pids: z.array(z.number()) })

/** Limit for a start of Node.js and PostgreSQL on a busy machine. A test has up to three of them. */
const startMsMax = 60_000
vi.setConfig({ testTimeout: 180_000 })

function spawnStack(dataDir: string): {
  readonly child: ChildProcess
  readonly output: () => string
} {
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return { child, output: () => output }
}

/** Starts a stack in a process of its own and waits until it is ready. The end of the test stops it. */
async function startedStack(dataDir: string) {
  const { child, output } = spawnStack(dataDir)
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  await until('a started stack', () => output().includes('\n') || undefined, startMsMax)
  return { child, ...readySchema.parse(JSON.parse(output())) }
}

/** Returns the address at which PostgreSQL was reached, or `null` through a Unix socket. */
async function serverAddress(databaseUrl: string): Promise<string | null> {
  const { rows } = await withPostgres(databaseUrl, (client) =>
    client.query<{ address: string | null }>('select host(inet_server_addr()) as address'),
  )
  return rows[0]?.address ?? null
}

async function killAndWait(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

it('keeps committed data when it is killed, and ends at the next start what the kill left running', async () => {
  const dataDir = tempFolder()
  const first = await startedStack(dataDir)
  await withPostgres(first.databaseUrl, async (client) => {
    await client.query('create table kept (n integer)')
    await client.query('insert into kept values (1)')
  })
  await killAndWait(first.child)
  const second = await startedStack(dataDir)
  expect(second.databaseUrl).toBe(first.databaseUrl)
  const rows = await withPostgres(second.databaseUrl, (client) =>
    client.query('select n from kept'),
  )
  expect(rows.rows).toEqual([{ n: 1 }])
  expect(first.pids.map(processStart)).toEqual([undefined])
})

it('leads through a Unix socket, also when the socket of a killed start is left', async () => {
  const dataDir = join(tempFolder(), 'a, "b')
  const first = await startedStack(dataDir)
  const socket = join(dataDir, 'postgres', `.s.PGSQL.${new URL(first.databaseUrl).port}`)
  const { pids: others } = await startedStack(tempFolder())
  await killAndWait(first.child)
  await until('its end', () => first.pids.every((pid) => !processStart(pid)) || undefined)
  // The process id in the lock file may belong to another program by now.
  writeFileSync(`${socket}.lock`, `${others.join('\n')}\n`)
  const { databaseUrl } = await startedStack(dataDir)
  expect(await serverAddress(databaseUrl)).toBeNull()
})

it('leads over TCP when the path of the data folder is too long for a socket', async () => {
  const { databaseUrl } = await startedStack(join(tempFolder(), 'a'.repeat(100)))
  expect(await serverAddress(databaseUrl)).toBe('127.0.0.1')
})

it('leaves no process running when it is killed and not started again', async () => {
  const dataDir = tempFolder()
  const { child, pids } = await startedStack(dataDir)
  await killAndWait(child)
  await until('the end of PostgreSQL', () => pids.every((pid) => !processStart(pid)) || undefined)
  await until(
    'the removal of the record by the watchdog',
    () => !existsSync(join(dataDir, 'pids.json')) || undefined,
  )
  expect(pids.map(processStart)).toEqual([undefined])
})

it('leaves no process running when it is killed while PostgreSQL is started again', async () => {
  const dataDir = tempFolder()
  const { child, pids } = await startedStack(dataDir)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  const again = await until(
    'the next start of PostgreSQL',
    () => readPidRecord(dataDir)?.parts.find(({ pid }) => !pids.includes(pid)),
    startMsMax,
  )
  onTestFinished(() => void (isSameProcessAlive(again) && process.kill(again.pid, 'SIGKILL')))
  child.kill('SIGINT')
  await once(child, 'exit')
  await until('the end of PostgreSQL', () => !isSameProcessAlive(again) || undefined)
  expect(processStart(again.pid)).not.toBe(again.start)
})

it('refuses a second start on the same DATA_DIR, and the first one keeps running', async () => {
  const dataDir = tempFolder()
  const { databaseUrl } = await startedStack(dataDir)
  const second = spawnStack(dataDir)
  expect(await once(second.child, 'exit')).toEqual([1, null])
  expect(second.output()).toContain(`DATA_DIR ${dataDir} is in use by another start`)
  await withPostgres(databaseUrl, (client) => client.query('select 1'))
})

it('starts PostgreSQL again when it ends unasked', async () => {
  const { databaseUrl, pids } = await startedStack(tempFolder())
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  const answer = await until(
    'PostgreSQL again',
    () =>
      withPostgres(databaseUrl, (client) => client.query('select 2 as two')).catch(() => undefined),
    startMsMax,
  )
  expect(answer.rows).toEqual([{ two: 2 }])
  expect(pids.map(processStart)).toEqual([undefined])
})
