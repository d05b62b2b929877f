import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { withPostgres } from '../../../src/dev/stack/postgresClient.ts'
import { processStart } from '../../../tools/processIdentity.mjs'
import { tempFolder } from '../../support/tempFolder.ts'
import { until } from '../../support/timing.ts'

const script = fileURLToPath(new URL('../../support/stack/runPostgresStack.ts', import.meta.url))
const readySchema = z.object({ databaseUrl: z.string(), pids: z.array(z.number()) })

const spawnStack = (dataDir: string): { child: ChildProcess; output: () => string } => {
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return { child, output: () => output }
}

/** A stack in a process of its own, ready. The test must end it; what it forgets is killed. */
const startedStack = async (dataDir: string) => {
  const { child, output } = spawnStack(dataDir)
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  await until('a started stack', () => output().includes('\n') || undefined)
  return { child, ...readySchema.parse(JSON.parse(output())) }
}

const killed = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

it('keeps what was committed through a kill of everything, and ends what the kill left', async () => {
  const dataDir = tempFolder()
  const first = await startedStack(dataDir)
  await withPostgres(first.databaseUrl, async (client) => {
    await client.query('create table kept (n integer)')
    await client.query('insert into kept values (1)')
  })
  await killed(first.child)
  const second = await startedStack(dataDir)
  expect(second.databaseUrl).toBe(first.databaseUrl)
  const rows = await withPostgres(second.databaseUrl, (client) =>
    client.query('select n from kept'),
  )
  expect(rows.rows).toEqual([{ n: 1 }])
  expect(first.pids.map(processStart)).toEqual([undefined])
})

it('leaves no process behind when it is killed and not started again', async () => {
  const dataDir = tempFolder()
  const { child, pids } = await startedStack(dataDir)
  await killed(child)
  await until('the end of PostgreSQL', () => pids.every((pid) => !processStart(pid)) || undefined)
  await until('the watchdog at work', () => !existsSync(join(dataDir, 'pids.json')) || undefined)
  expect(pids.map(processStart)).toEqual([undefined])
})

it('refuses a second start on the same DATA_DIR and leaves the first one running', async () => {
  const dataDir = tempFolder()
  const { databaseUrl } = await startedStack(dataDir)
  const second = spawnStack(dataDir)
  expect(await once(second.child, 'exit')).toEqual([1, null])
  expect(second.output()).toContain(`DATA_DIR ${dataDir} is in use by another start`)
  await withPostgres(databaseUrl, (client) => client.query('select 1'))
})

it('starts PostgreSQL again when it dies by itself', async () => {
  const { databaseUrl, pids } = await startedStack(tempFolder())
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  const answer = await until('PostgreSQL again', () =>
    withPostgres(databaseUrl, (client) => client.query('select 2 as two')).catch(() => undefined),
  )
  expect(answer.rows).toEqual([{ two: 2 }])
  expect(pids.map(processStart)).toEqual([undefined])
})
