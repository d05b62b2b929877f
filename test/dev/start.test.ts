import { spawn } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildGoTools } from '../../src/dev/goTools.ts'
import { withPostgres } from '../../src/dev/postgres.ts'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import { temporalTools } from '../../src/dev/temporalPrograms.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import type { Client, TaskRecord } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate, generateMany, makesImages } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { freeStartPorts } from '../support/ports.ts'
import { darkroomProcess } from '../support/service/darkroomCli.ts'
import {
  simulatorFile,
  upstreamCredentials,
  writeOperatorFile,
} from '../support/service/simulatorFile.ts'
import { createSimulatorClient } from '../support/simulatorClient.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { SpawnedStart } from '../support/stack/spawnStart.ts'
import { demoClient, memoryFolder, processesOn, spawnStart } from '../support/stack/spawnStart.ts'
import { timed, until } from '../support/timing.ts'

const script = fileURLToPath(new URL('../../src/dev/main.ts', import.meta.url))

// One service of `npm start`: the first one on a machine, killed and started again while it builds Temporal's server, then
// looked at, killed with live tasks and started again. Only Go is replaced, by a script that builds as long as a test wants,
// and then copies the real programs. The tests depend on their order.

let simulator: Awaited<ReturnType<typeof startSimulator>>
let folder: string
let dataDir: string
let given: Readonly<Record<string, string>>
let start: SpawnedStart
let environment: Readonly<Record<string, string>>
let client: Client
let mayFinish: string
const packages = 40
/** A call that is cut off takes a minute, and the next one is answered at once. */
const fault = '[sim:delay ms=60000 times=1]'

beforeAll(async () => {
  // It outlives the starts, so that it has seen all of their calls.
  simulator = await startSimulator({ port: 0, latency: 50, image: 'tiny' })
  folder = mkdtempSync(join(memoryFolder, 'darkroom-start-'))
  dataDir = join(folder, 'data')
  // An existing folder that every user of the machine may read, with the usual umask.
  mkdirSync(dataDir, { mode: 0o755 })
  const configPath = join(folder, 'config.json')
  mayFinish = join(folder, 'may-finish')
  given = {
    ...(await freeStartPorts()),
    PATH: `${await slowGo()}:${process.env['PATH']}`,
    // Without programs in it.
    XDG_CACHE_HOME: `${dataDir}-cache`,
    ...upstreamCredentials,
    DARKROOM_CONFIG: await writeOperatorFile(configPath, simulatorFile(simulator.url)),
    TEMPORAL_NAMESPACE: 'images',
  }
  await startOnDataDir({ withTemporal: false })
  return async () => {
    start.signal('SIGKILL')
    await start.ended
    await simulator.close()
    rmSync(folder, { recursive: true, force: true })
  }
}, stackStartMsMax)

/** Makes a `go` that builds until the file `mayFinish` exists. Returns its folder. */
async function slowGo(): Promise<string> {
  const built = await buildGoTools(temporalTools, () => {})
  if (built.kind === 'failed') throw new Error(built.why)
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = `#!/bin/sh
case $1 in
  list) for n in $(seq ${packages}); do echo s; done ;;
  build)
    while [ "$1" != -o ]; do shift; done
    printf 'package/%s\\n' 1 2 3 4 5 6 7 8 9 10 >&2
    while [ ! -e '${mayFinish}' ]; do sleep 0.1; done
    cp '${built.binDir}'/"$(basename "$2")" "$2" ;;
esac
`
  writeFileSync(join(bin, 'go'), script, { mode: 0o755 })
  return bin
}

async function startOnDataDir(awaited?: { readonly withTemporal: boolean }): Promise<void> {
  start = await spawnStart(dataDir, join(folder, 'log'), given)
  environment = await start.ready(stackStartMsMax, awaited)
  client = demoClient(dataDir, environment['PUBLIC_URL'])
}

async function workerParts() {
  const port = environment['WORKER_INTERNAL_PORT']
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  return { status: answer.status, body: await answer.text() }
}

describe("while Temporal's server is built", () => {
  const building = async () => (await fetch(`${client.url}/playground/engine`)).text()

  it('makes images for the demo account, whose key it prints only on a terminal, and shows how far the build is', async () => {
    await makesImages(client, 'Early [sim:delay ms=10]')
    const { status, body } = await workerParts()
    expect(status).toBe(200)
    const state = { process: 'ok', temporal: 'unavailable', polling: 'stopped' }
    expect(JSON.parse(body)).toMatchObject({ status: 'ready', parts: state })
    const progress = `Building Temporal's server: \\d+ of ${packages} packages`
    expect(start.output()).toMatch(new RegExp(progress))
    expect(start.output()).not.toContain('Temporal is ready')
    expect(await building()).toMatch(new RegExp(`^${progress}`))
    const key = client.authorization.replace('Bearer ', '')
    expect(start.output()).toContain(`Key of account demo: in ${dataDir}/demo-key`)
    expect(start.output()).toContain(`curl -s ${environment['PUBLIC_URL']}/v1/images/tasks `)
    expect(start.output()).not.toContain(key)
  })

  it(
    'stops at once on a second Ctrl-C, also during a call, leaves no process, and the next start goes on',
    async () => {
      expect(processesOn(dataDir).some((line) => line.includes('/go\0build'))).toBe(true)
      await client.accepted(generateBody({ prompt: `Long ${fault}` }))
      await createSimulatorClient(simulator.url).waitForCalls(1, { prompt: 'Long' })
      start.signal('SIGINT')
      // Longer than the time within which npm repeats the signal of the terminal.
      await sleep(500)
      const stopped = timed(async () => {
        start.signal('SIGINT')
        expect(await start.ended).toBe(1)
        await until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined)
      })
      // A stop that waits for the call takes its whole grace.
      expect(await stopped).toBeLessThan(5_000)
      await startOnDataDir({ withTemporal: false })
    },
    stackStartMsMax,
  )

  it(
    'takes Temporal when it is built, without a restart, and loses and doubles no task',
    async () => {
      const seen = createSimulatorClient(simulator.url)
      const pids = () => (['worker', 'api'] as const).map((part) => start.partPid(part))
      const before = pids()
      const prompt = 'Live [sim:hold]'
      const waiting = generateMany(client, 10, prompt)
      const submitted = Array.from({ length: 10 }, async (_, n) => {
        const body = generateBody({ prompt: `Later ${prompt} ${n}` })
        return (await client.accepted(body)).task_id
      })
      const taskIds = await Promise.all(submitted)
      await seen.waitForCalls(20, { prompt })
      const statuses = new Set<number>()
      writeFileSync(mayFinish, '')
      await until(
        'Temporal',
        async () => {
          statuses.add((await fetch(`${client.url}/readyz`)).status)
          return (await workerParts()).body.includes('"polling":"ok"') || undefined
        },
        stackStartMsMax,
      )
      expect([...statuses]).toEqual([200])
      expect(await seen.release({ prompt })).toBe(20)
      expect((await waiting).map((answer) => answer?.status)).toEqual(Array(10).fill(200))
      const ends = await Promise.all(taskIds.map((taskId) => client.ended(taskId)))
      expect(ends.map(({ status }) => status)).toEqual(Array(10).fill('succeeded'))
      expect(await seen.calls({ prompt })).toHaveLength(20)

      const body = generateBody({ prompt: 'With a run [sim:delay ms=10]' })
      const { task_id: taskId } = await client.accepted(body)
      expect((await client.ended(taskId)).status).toBe('succeeded')
      const ui = environment['TEMPORAL_UI_URL']
      await until(
        'the address of the UI',
        () => start.output().includes(`Its UI: ${ui}`) || undefined,
      )
      await until('nothing under way', async () => (await building()) === '' || undefined)
      const id = encodeURIComponent(`image/${taskId}`)
      const run = await fetch(`${ui}/api/v1/namespaces/images/workflows/${id}`)
      expect(run.status).toBe(200)
      expect(pids()).toEqual(before)
      const cache = readdirSync(`${dataDir}-cache/darkroom`)
      expect(cache.filter((name) => name.includes('building'))).toEqual([])
    },
    stackStartMsMax,
  )
})

it('runs the admin process, whose key is in a file of its own and is never printed', async () => {
  const adminUrl = `http://127.0.0.1:${environment['ADMIN_PORT']}`
  const key = readFileSync(join(dataDir, 'admin-key'), 'utf8').trim()
  const headers = { Authorization: `Bearer ${key}` }
  const session = await fetch(`${adminUrl}/admin/v1/session`, { headers })
  expect(await session.json()).toEqual({ key_id: 'local', role: 'operator' })
  expect(start.output()).toContain(
    `For operators: ${adminUrl}, with the key in ${dataDir}/admin-key`,
  )
  expect(start.output()).not.toContain(key)
  expect(JSON.stringify(environment)).not.toContain(key)
})

it('is found by the command line through its runtime file', async () => {
  const shown = await darkroomProcess(['account', 'show', 'demo', '--json'], { DATA_DIR: dataDir })
  expect(JSON.parse(shown)).toMatchObject({ name: 'demo' })
})

/** The files and folders in `folder`, itself included, on which other users of the machine have a right. */
function readableByOthers(folder: string): readonly string[] {
  const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return ['.', ...inside].filter((name) => {
    const found = lstatSync(join(folder, name), { throwIfNoEntry: false })
    return found !== undefined && !found.isSymbolicLink() && (found.mode & 0o077) !== 0
  })
}

it('keeps its data from other users of the machine', () => {
  expect(readableByOthers(dataDir)).toEqual([])
})

it('gives the credentials of the upstreams to the worker, and not to the API, and to neither the key of operators', () => {
  const countOf = (part: 'api' | 'worker' | 'admin', name: RegExp) => {
    const pid = start.partPid(part)
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    return variables.filter((variable) => name.test(variable)).length
  }
  const [credential, adminKey] = [/^\w+_API_KEY=/, /^ADMIN_KEYS=/]
  expect([countOf('api', credential), countOf('worker', credential)]).toEqual([0, 2])
  expect([
    countOf('api', adminKey),
    countOf('worker', adminKey),
    countOf('admin', adminKey),
  ]).toEqual([0, 0, 1])
})

it("shows its own namespace first in Temporal's UI", async () => {
  const answer = await fetch(`${environment['TEMPORAL_UI_URL']}/api/v1/settings`)
  expect(await answer.json()).toMatchObject({ DefaultNamespace: 'images' })
})

it("does not open Temporal's HTTP API, which pages in a browser could call", async () => {
  const first = Number(environment['TEMPORAL_ADDRESS']?.split(':')[1])
  const ports = Array.from({ length: 8 }, (_, index) => first + index)
  const answers = await Promise.all(
    ports.map(async (port) => {
      const signal = AbortSignal.timeout(500)
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces`, { signal })
        .then(({ ok }) => ok)
        .catch(() => false)
      return { port, answer }
    }),
  )
  expect(answers.filter(({ answer }) => answer)).toEqual([])
})

it('refuses a second start on its DATA_DIR, and keeps running', async () => {
  const second = await spawnStart(dataDir, join(folder, 'log of the second'))
  expect(await second.ended).toBe(1)
  expect(second.output()).toContain(`DATA_DIR ${dataDir} is in use by another start of Darkroom`)
  expect((await fetch(`${client.url}/readyz`)).status).toBe(200)
})

it('starts each part again when it ends unasked, and goes on', async () => {
  const parts = ['postgres', 'temporal', 'worker', 'api', 'admin'] as const
  const before = parts.map((part) => start.partPid(part))
  for (const pid of before) process.kill(pid, 'SIGKILL')
  await until('other processes', () => {
    const now = parts.map((part) => start.partPid(part))
    return now.every((pid, n) => ![0, before[n]].includes(pid)) || undefined
  })
  const body = generateBody({ prompt: 'After the kills [sim:delay ms=10]' })
  const { task_id: taskId } = await until('an accepted task', () =>
    client.accepted(body).catch(() => undefined),
  )
  const record = await until('its end', () => client.ended(taskId).catch(() => undefined))
  expect(record.status).toBe('succeeded')
})

const [submits, synchronous] = [10, 10]
const endMsMax = 90_000
const numbers = Array.from({ length: submits }, (_, n) => n)
/** A task that has succeeded, and the tasks whose calls are under way, when the start is killed. */
let done: TaskRecord
let live: readonly string[]

async function submit(n: number): Promise<string> {
  const body = generateBody({ prompt: `Submitted ${n} ${fault}` })
  return (await client.accepted(body, { 'idempotency-key': `submit-${n}` })).task_id
}

async function dropTemporalDatabases(): Promise<void> {
  const url = (environment['DATABASE_URL'] ?? '').replace(/\/darkroom$/, '/postgres')
  await withPostgres(url, async (postgres) => {
    for (const name of ['temporal', 'temporal_visibility']) {
      await postgres.query(`DROP DATABASE ${name} WITH (FORCE)`)
    }
  })
}

it(
  "`npm start` that is killed with 20 live tasks, and all of Temporal's data gone, leaves no process, and the next one at once has what was promised",
  async () => {
    done = await client.ended((await client.accepted(generateBody({ prompt: 'Done' }))).task_id)
    live = await Promise.all(numbers.map(submit))
    const cut = generateMany(client, synchronous, `Waiting ${fault}`)
    const seen = createSimulatorClient(simulator.url)
    await seen.waitForCalls(submits, { prompt: 'Submitted' })
    await seen.waitForCalls(synchronous, { prompt: 'Waiting' })
    const before = processesOn(dataDir)
    expect(before.length).toBeGreaterThan(5)
    await dropTemporalDatabases()
    // Its server still runs, and makes no run.
    await until('a worker that says so', async () => {
      const { status, body } = await workerParts()
      expect(status).toBe(200)
      return body.includes('"temporal":"ok"') ? undefined : true
    })
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

// At once, because both wait most of the time.
describe.concurrent('with a folder of its own each', () => {
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
        databaseUrl: environment['DATABASE_URL'] ?? '',
        applicationName: 'kill-all',
        connectionsMax: 2,
        onConnectionError: () => {},
      })
      for (const taskId of taskIds) expect(await moneyOf(pool, taskId)).toEqual(['hold', 'settle'])
      await assertLedgerVerifies(pool)
      await pool.end()
      // The call that the kill cut off, and one more.
      const ours = simulator
        .calls()
        .filter(({ prompt }) => /^(Submitted|Waiting) /.test(prompt ?? ''))
      const calls = Map.groupBy(ours, ({ prompt }) => prompt)
      expect([...calls.values()].map(({ length }) => length)).toEqual(taskIds.map(() => 2))
    },
    endMsMax + stackStartMsMax,
  )

  it(
    'without Go and without network makes images and says what is missing; it ends with the npm that it was started by',
    async () => {
      const own = join(folder, 'alone')
      const log = `${own}.log`
      const missing = join(folder, 'missing')
      mkdirSync(missing)
      writeFileSync(join(missing, 'go'), '#!/bin/sh\nexit 127\n', { mode: 0o755 })
      const nowhere = 'http://127.0.0.1:1'
      const ports = await freeStartPorts()
      // npm runs its scripts by a shell, which names npm's process as its parent. Here the shell is in npm's place.
      const npm = spawn(
        'sh',
        ['-c', '"$0" "$1" --with $$ >"$2" & wait', process.execPath, script, log],
        {
          env: {
            ...process.env,
            ...ports,
            PATH: `${missing}:${process.env['PATH']}`,
            HTTPS_PROXY: nowhere,
            https_proxy: nowhere,
            XDG_CACHE_HOME: join(folder, 'empty-cache'),
            DATA_DIR: own,
          },
          stdio: 'ignore',
        },
      )
      const output = () => (existsSync(log) ? readFileSync(log, 'utf8') : '')
      const bothLines = () => {
        const lines = output().split('\n')
        const isReady = lines.some((each) => each.includes('Darkroom is ready'))
        return isReady ? lines.find((each) => each.includes('works without Temporal')) : undefined
      }
      const line = await until('both lines', bothLines, stackStartMsMax).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${output()}`)
      })
      expect(line).toContain('the worker carries out all tasks itself')
      expect(line).toContain('Go is not installed')
      expect(line).toContain('Install Go 1.21 or later, or set TEMPORAL_ADDRESS')
      await makesImages(
        demoClient(own, `http://127.0.0.1:${ports.PORT}`),
        'Alone [sim:delay ms=10]',
      )
      expect(processesOn(own).length).toBeGreaterThan(4)
      npm.kill('SIGKILL')
      await until('the end of all parts', () => processesOn(own).length === 0 || undefined)
    },
    2 * stackStartMsMax,
  )
})

it('stops on Ctrl-C after the calls under way, when npm repeats the signal of the terminal', async () => {
  const answer = generate(client, { prompt: 'Late [sim:delay ms=1500]' })
  await sleep(500)
  start.signal('SIGINT')
  await sleep(50)
  start.signal('SIGINT')
  expect((await answer).status).toBe(200)
  expect(await start.ended).toBe(0)
  expect(processesOn(dataDir)).toEqual([])
  expect(readdirSync(dataDir)).not.toContain('runtime.json')
})
