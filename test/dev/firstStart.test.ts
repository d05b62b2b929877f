import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildGoTools } from '../../src/dev/goTools.ts'
import { temporalTools } from '../../src/dev/temporalPrograms.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generateMany, makesImages } from '../support/clients/syncCalls.ts'
import { freeStartPorts } from '../support/ports.ts'
import { createSimulatorClient } from '../support/simulatorClient.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { demoClient, memoryFolder, processesOn, spawnStart } from '../support/stack/spawnStart.ts'
import { timed, until } from '../support/timing.ts'

// The first start on a machine. Only Go is replaced, by a script that builds as long as a test wants, and then copies
// the real programs. Temporal is the real one.

const folder = mkdtempSync(join(memoryFolder, 'darkroom-first-'))
const bin = join(folder, 'bin')
const mayFinish = join(folder, 'may-finish')
const packages = 40

beforeAll(async () => {
  const built = await buildGoTools(temporalTools, () => {})
  if (built.kind === 'failed') throw new Error(built.why)
  mkdirSync(bin)
  const fakeGo = `#!/bin/sh
case $1 in
  list) for n in $(seq ${packages}); do echo s; done ;;
  build)
    while [ "$1" != -o ]; do shift; done
    printf 'package/%s\\n' 1 2 3 4 5 6 7 8 9 10 >&2
    while [ ! -e '${mayFinish}' ]; do sleep 0.1; done
    cp '${built.binDir}'/"$(basename "$2")" "$2" ;;
esac
`
  writeFileSync(join(bin, 'go'), fakeGo, { mode: 0o755 })
  return () => rmSync(folder, { recursive: true, force: true })
}, stackStartMsMax)

async function parts(environment: Readonly<Record<string, string>>) {
  const port = environment['WORKER_INTERNAL_PORT']
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  return { status: answer.status, body: await answer.text() }
}

describe("a start that builds Temporal's server", () => {
  let ports: Awaited<ReturnType<typeof freeStartPorts>>
  let dataDir: string
  let running: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    ports = await freeStartPorts()
    dataDir = join(folder, 'builds')
    running = await start()
    return async () => {
      running.start.signal('SIGKILL')
      await running.start.ended
    }
  }, stackStartMsMax)

  /** Starts on an empty cache of programs, and waits until it is ready without Temporal. */
  async function start() {
    const own = { XDG_CACHE_HOME: `${dataDir}-cache`, PATH: `${bin}:${process.env['PATH']}` }
    const start = await spawnStart(dataDir, `${dataDir}.log`, { ...ports, ...own })
    const environment = await start.ready(stackStartMsMax, { withTemporal: false })
    return { start, client: demoClient(dataDir, environment['PUBLIC_URL']), environment }
  }

  it('makes images meanwhile, and shows how far the build is', async () => {
    await makesImages(running.client, 'Early [sim:delay ms=10]')
    const { status, body } = await parts(running.environment)
    expect(status).toBe(200)
    const state = { process: 'ok', temporal: 'unavailable', polling: 'stopped' }
    expect(JSON.parse(body)).toMatchObject({ status: 'ready', parts: state })
    expect(running.start.output()).toMatch(
      new RegExp(
        `Building Temporal's server: \\d+ of ${packages} packages, about \\d+ (s|min) left`,
      ),
    )
    expect(running.start.output()).not.toContain('Temporal is ready')
    const said = await fetch(`${running.client.url}/playground/engine`)
    expect(await said.text()).toMatch(/^Building Temporal's server: \d+ of \d+ packages/)
  })

  it(
    'leaves no process when it is killed, and the next start goes on',
    async () => {
      expect(processesOn(dataDir).some((line) => line.includes('/go\0build'))).toBe(true)
      running.start.signal('SIGKILL')
      await running.start.ended
      await until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined)
      running = await start()
    },
    stackStartMsMax,
  )

  it(
    'takes Temporal when it is built, without a restart, and loses and doubles no task',
    async () => {
      const { client } = running
      const simulator = createSimulatorClient(`http://127.0.0.1:${ports.SIMULATOR_PORT}`)
      const pids = () => (['worker', 'api'] as const).map((part) => running.start.partPid(part))
      const before = pids()
      const live = 'Live [sim:hold]'
      const synchronous = generateMany(client, 10, live)
      const submitted = Array.from({ length: 10 }, async (_, n) => {
        const body = generateBody({ prompt: `Submitted ${live} ${n}` })
        return (await client.accepted(body)).task_id
      })
      const taskIds = await Promise.all(submitted)
      await simulator.waitForCalls(20, { prompt: live })
      const statuses = new Set<number>()
      writeFileSync(mayFinish, '')
      await until(
        'Temporal',
        async () => {
          statuses.add((await fetch(`${client.url}/readyz`)).status)
          const { body } = await parts(running.environment)
          return body.includes('"polling":"ok"') || undefined
        },
        stackStartMsMax,
      )
      expect([...statuses]).toEqual([200])
      expect(await simulator.release({ prompt: live })).toBe(20)
      expect((await synchronous).map((answer) => answer?.status)).toEqual(Array(10).fill(200))
      const ends = await Promise.all(taskIds.map((taskId) => client.ended(taskId)))
      expect(ends.map(({ status }) => status)).toEqual(Array(10).fill('succeeded'))
      expect(await simulator.calls({ prompt: live })).toHaveLength(20)

      const { task_id: taskId } = await client.accepted(
        generateBody({ prompt: 'With a run [sim:delay ms=10]' }),
      )
      expect((await client.ended(taskId)).status).toBe('succeeded')
      await until(
        'the address of the UI',
        () =>
          running.start.output().includes(`Its UI: ${running.environment['TEMPORAL_UI_URL']}`) ||
          undefined,
      )
      const said = async () => (await fetch(`${client.url}/playground/engine`)).text()
      await until('nothing under way', async () => (await said()) === '' || undefined)
      const workflow = `/api/v1/namespaces/default/workflows/${encodeURIComponent(`image/${taskId}`)}`
      const run = await fetch(`${running.environment['TEMPORAL_UI_URL']}${workflow}`)
      expect(run.status).toBe(200)
      expect(pids()).toEqual(before)
      const cache = readdirSync(`${dataDir}-cache/darkroom`)
      expect(cache.filter((name) => name.includes('building'))).toEqual([])
    },
    stackStartMsMax,
  )

  it('stops at once on a second Ctrl-C, also during a call, and leaves no process', async () => {
    const { start, client } = running
    const simulator = createSimulatorClient(`http://127.0.0.1:${ports.SIMULATOR_PORT}`)
    await client.accepted(generateBody({ prompt: 'Long [sim:hold]' }))
    await simulator.waitForCalls(1, { prompt: 'Long' })
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
  })
})
