import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
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
