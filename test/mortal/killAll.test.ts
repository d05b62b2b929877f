import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/server.ts'
import { createPool } from '../../src/store/connection/pool.ts'
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
import { dataParent } from '../support/stack/calmProcesses.ts'
import { spawnStart } from '../support/stack/spawnStart.ts'
import { until } from '../support/timing.ts'

const [submits, synchronous] = [10, 10]
const startMsMax = 60_000
const endMsMax = 90_000

/** Returns the process ids of a process and of all its descendants. */
function treeOf(root: number): readonly number[] {
  const listing = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
  const parents = listing.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const tree = [root]
  for (const pid of tree) {
    for (const [child = 0, parent = 0] of parents) if (parent === pid) tree.push(child)
  }
  return tree
}

/** Reports whether a process runs. One that only waits for its parent to read its exit code has ended. */
function runs(pid: number): boolean {
  const path = `/proc/${pid}/stat`
  return existsSync(path) && !/\) Z /.test(readFileSync(path, 'utf8'))
}

it(
  '`npm start` that is killed with 20 live tasks leaves no process, and after a second start all tasks succeed, each charged once and with its key',
  async () => {
    const simulator = await startSimulator({ port: 0, latency: 50, image: 'tiny' })
    onTestFinished(() => simulator.close())
    const folder = await mkdtemp(join(await dataParent(), 'darkroom-kill-all-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const environment = {
      ...(await freeStartPorts()),
      ...upstreamCredentials,
      DARKROOM_CONFIG: await writeOperatorFile(
        join(folder, 'config.json'),
        simulatorFile(simulator.url),
      ),
    }
    const dataDir = join(folder, 'data')
    const start = async () => {
      const started = await spawnStart(dataDir, environment)
      onTestFinished(async () => {
        started.signal('SIGTERM')
        await started.ended
      })
      const { PORT, DATABASE_URL } = await started.ready(startMsMax)
      const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim()
      const client = createClient(`http://127.0.0.1:${PORT}`, key)
      return { started, client, databaseUrl: DATABASE_URL ?? '' }
    }
    const fault = '[sim:delay ms=60000 times=1]'
    const submit = async (client: ReturnType<typeof createClient>, n: number) => {
      const headers = { 'idempotency-key': `submit-${n}` }
      const body = generateBody({ prompt: `Submitted ${n} ${fault}` })
      return (await client.accepted(body, headers)).task_id
    }
    const all = Array.from({ length: submits }, (_, n) => n)

    const first = await start()
    const ids = await Promise.all(all.map((n) => submit(first.client, n)))
    const cut = generateMany(first.client, synchronous, `Waiting ${fault}`)
    await simulator.waitForCalls(submits + synchronous)
    const tree = treeOf(first.started.pid)
    expect(tree.length).toBeGreaterThan(5)
    first.started.signal('SIGKILL')
    await until('the end of every process', () => (tree.some(runs) ? undefined : true))
    expect(await cut).toEqual(Array(synchronous).fill(undefined))

    const second = await start()
    const repeated = await generateMany(second.client, synchronous, `Waiting ${fault}`)
    expect(repeated.map((answer) => answer?.status)).toEqual(Array(synchronous).fill(200))
    const ended = await Promise.all(
      ids.map((id) => second.client.ended(id, { limitMs: endMsMax, everyMs: 250 })),
    )
    expect(ended.map(({ status }) => status)).toEqual(Array(submits).fill('succeeded'))
    expect(await Promise.all(all.map((n) => submit(second.client, n)))).toEqual(ids)

    const taskIds = [...ids, ...repeated.map((answer) => answer?.taskId ?? '')]
    expect(new Set(taskIds).size).toBe(submits + synchronous)
    const pool = createPool({
      databaseUrl: second.databaseUrl,
      applicationName: 'kill-all',
      connectionsMax: 2,
      onConnectionError: () => {},
    })
    onTestFinished(() => pool.end())
    for (const taskId of taskIds) expect(await moneyOf(pool, taskId)).toEqual(['hold', 'settle'])
    await assertLedgerVerifies(pool)
    // The call that the kill cut off, and one more.
    const calls = Map.groupBy(simulator.calls(), ({ prompt }) => prompt)
    expect([...calls.values()].map(({ length }) => length)).toEqual(taskIds.map(() => 2))
    second.started.signal('SIGTERM')
    expect(await second.started.ended).toBe(0)
  },
  2 * startMsMax + endMsMax,
)
