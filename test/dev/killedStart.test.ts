import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { freeStartPorts } from '../support/ports.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { SpawnedStart } from '../support/stack/spawnStart.ts'
import { memoryFolder, processesOn, spawnStart } from '../support/stack/spawnStart.ts'
import { timed, until } from '../support/timing.ts'

const task = { model: 'familyb-image-2-vip', action: 'generate' }

const dataDir = mkdtempSync(join(memoryFolder, 'darkroom-killed-'))
let ports: Readonly<Record<string, string>>
let start: SpawnedStart
let environment: Readonly<Record<string, string>>
let client: Client

async function startAgain(): Promise<void> {
  start = await spawnStart(dataDir, ports)
  environment = await start.ready(stackStartMsMax)
  const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim()
  client = createClient(environment['PUBLIC_URL'] ?? '', key)
}

beforeAll(async () => {
  ports = await freeStartPorts()
  await startAgain()
}, stackStartMsMax)

afterAll(async () => {
  start.signal('SIGKILL')
  await start.ended
  await until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined)
  rmSync(dataDir, { recursive: true, force: true })
})

it('a start that is killed leaves no process, and the next one at once has what was promised', async () => {
  const { task_id: taskId } = await client.accepted({ ...task, prompt: 'Done [sim:delay ms=10]' })
  const done = await client.ended(taskId)
  const open = await client.accepted({ ...task, prompt: 'Open [sim:delay ms=5000]' })
  const before = processesOn(dataDir)
  start.signal('SIGKILL')
  await startAgain()
  const after = new Set(processesOn(dataDir))
  expect(before.filter((each) => after.has(each))).toEqual([])
  expect(await (await client.lookup(taskId)).json()).toEqual(done)
  expect((await fetch(done.output?.assets[0]?.url ?? '')).status).toBe(200)
  expect((await client.lookup(open.task_id)).status).toBe(200)
  expect(await darkroomJson(['ledger', 'verify'], environment)).toMatchObject({ ok: true })
})

it('a second Ctrl-C stops at once, also during a call, and leaves no process', async () => {
  await client.accepted({ ...task, prompt: 'Long [sim:delay ms=60000]' })
  await new Promise((resolve) => setTimeout(resolve, 500))
  start.signal('SIGINT')
  await new Promise((resolve) => setTimeout(resolve, 500))
  const stopped = timed(async () => {
    start.signal('SIGINT')
    expect(await start.ended).toBe(1)
    await until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined)
  })
  expect(await stopped).toBeLessThan(5_000)
})

it('a start ends with the npm that it was started by, also before it is ready, and leaves no process', async () => {
  const own = mkdtempSync(join(memoryFolder, 'darkroom-killed-'))
  onTestFinished(() => rmSync(own, { recursive: true, force: true }))
  const script = fileURLToPath(new URL('../../src/dev/main.ts', import.meta.url))
  // npm runs its scripts by a shell, which names npm's process as its parent. Here the shell is in npm's place.
  const npm = spawn('sh', ['-c', '"$0" "$1" --with $$ & wait', process.execPath, script], {
    env: { ...process.env, ...(await freeStartPorts()), DATA_DIR: own },
    stdio: 'ignore',
  })
  await until('PostgreSQL', () => existsSync(join(own, 'postgres/postmaster.pid')) || undefined)
  expect(processesOn(own).length).toBeGreaterThan(1)
  npm.kill('SIGKILL')
  await until('the end of all parts', () => processesOn(own).length === 0 || undefined)
})
