import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/server.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import type { Client, TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generateMany } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { freeStartPorts } from '../support/ports.ts'
import {
  simulatorFile,
  upstreamCredentials,
  writeOperatorFile,
} from '../support/service/simulatorFile.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { SpawnedStart } from '../support/stack/spawnStart.ts'
import { memoryFolder, processesOn, spawnStart } from '../support/stack/spawnStart.ts'
import { timed, until } from '../support/timing.ts'

// One service of `npm start`, killed with live tasks and started again. The tests depend on their order.

const [submits, synchronous] = [10, 10]
const endMsMax = 90_000
const fault = '[sim:delay ms=60000 times=1]'
const numbers = Array.from({ length: submits }, (_, n) => n)

let simulator: Awaited<ReturnType<typeof startSimulator>>
let dataDir: string
let environment: Readonly<Record<string, string>>
let start: SpawnedStart
let databaseUrl: string
let client: Client
/** A task that has succeeded, and the tasks whose calls are under way, when the start is killed. */
let done: TaskRecord
let live: readonly string[]

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 50, image: 'tiny' })
  const folder = mkdtempSync(join(memoryFolder, 'darkroom-kill-all-'))
  dataDir = join(folder, 'data')
  environment = {
    ...(await freeStartPorts()),
    ...upstreamCredentials,
    DARKROOM_CONFIG: await writeOperatorFile(
      join(folder, 'config.json'),
      simulatorFile(simulator.url),
    ),
  }
  await startOnDataDir()
  return async () => {
    start.signal('SIGKILL')
    await start.ended
    await nothingRuns()
    await simulator.close()
    rmSync(folder, { recursive: true, force: true })
  }
}, stackStartMsMax)

async function startOnDataDir(): Promise<void> {
  start = await spawnStart(dataDir, `${dataDir}.log`, environment)
  const { PUBLIC_URL: url = '', ...given } = await start.ready(stackStartMsMax)
  databaseUrl = given['DATABASE_URL'] ?? ''
  client = createClient(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim())
}

const nothingRuns = () =>
  until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined)

async function submit(n: number): Promise<string> {
  const body = generateBody({ prompt: `Submitted ${n} ${fault}` })
  return (await client.accepted(body, { 'idempotency-key': `submit-${n}` })).task_id
}

it(
  '`npm start` that is killed with 20 live tasks leaves no process, and the next one at once has what was promised',
  async () => {
    done = await client.ended((await client.accepted(generateBody({ prompt: 'Done' }))).task_id)
    live = await Promise.all(numbers.map(submit))
    const cut = generateMany(client, synchronous, `Waiting ${fault}`)
    await simulator.waitForCalls(1 + submits + synchronous)
    const before = processesOn(dataDir)
    expect(before.length).toBeGreaterThan(5)
    start.signal('SIGKILL')
    await startOnDataDir()
    const after = new Set(processesOn(dataDir))
    expect(before.filter((each) => after.has(each))).toEqual([])
    expect(await cut).toEqual(Array(synchronous).fill(undefined))
    expect(await (await client.lookup(done.task_id)).json()).toEqual(done)
    expect((await fetch(done.output?.assets[0]?.url ?? '')).status).toBe(200)
  },
  stackStartMsMax,
)

it(
  'after a second start all tasks succeed, each charged once and with its key',
  async () => {
    const repeated = await generateMany(client, synchronous, `Waiting ${fault}`)
    expect(repeated.map((answer) => answer?.status)).toEqual(Array(synchronous).fill(200))
    const ended = await Promise.all(live.map((id) => client.ended(id, { limitMs: endMsMax })))
    expect(ended.map(({ status }) => status)).toEqual(Array(submits).fill('succeeded'))
    expect(await Promise.all(numbers.map(submit))).toEqual(live)

    const taskIds = [...live, ...repeated.map((answer) => answer?.taskId ?? '')]
    expect(new Set(taskIds).size).toBe(submits + synchronous)
    const pool = createPool({
      databaseUrl,
      applicationName: 'kill-all',
      connectionsMax: 2,
      onConnectionError: () => {},
    })
    for (const taskId of taskIds) expect(await moneyOf(pool, taskId)).toEqual(['hold', 'settle'])
    await assertLedgerVerifies(pool)
    await pool.end()
    // The call that the kill cut off, and one more.
    const calls = Map.groupBy(simulator.calls(), ({ prompt }) => prompt)
    calls.delete('Done')
    expect([...calls.values()].map(({ length }) => length)).toEqual(taskIds.map(() => 2))
  },
  endMsMax + stackStartMsMax,
)

it('a second Ctrl-C stops at once, also during a call, and leaves no process', async () => {
  const { length: begun } = simulator.calls()
  await client.accepted(generateBody({ prompt: `Long ${fault}` }))
  await simulator.waitForCalls(begun + 1)
  start.signal('SIGINT')
  // Longer than the time within which npm repeats the signal of the terminal.
  await sleep(500)
  const stopped = timed(async () => {
    start.signal('SIGINT')
    expect(await start.ended).toBe(1)
    await nothingRuns()
  })
  expect(await stopped).toBeLessThan(5_000)
})
