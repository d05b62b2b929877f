import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import type { Client, TaskRecord } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { freeStartPorts } from '../support/ports.ts'
import {
  simulatorFile,
  upstreamCredentials,
  writeOperatorFile,
} from '../support/service/simulatorFile.ts'
import { createSimulatorClient } from '../support/simulatorClient.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { SpawnedStart, Wrap } from '../support/stack/spawnStart.ts'
import { demoClient, memoryFolder, processesOn, spawnStart } from '../support/stack/spawnStart.ts'
import { until } from '../support/timing.ts'

// One DATA_DIR, on which `npm start` is ended in every way and started again. The upstream outlives the starts, so that it
// has seen all of their calls. The tests depend on their order.

let simulator: Awaited<ReturnType<typeof startSimulator>>
let folder: string
let dataDir: string
let given: Readonly<Record<string, string>>
let start: SpawnedStart
let client: Client

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 50, image: 'tiny' })
  folder = mkdtempSync(join(memoryFolder, 'darkroom-stops-'))
  dataDir = join(folder, 'data')
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  // Temporal's server is being built as long as a start runs.
  writeFileSync(join(bin, 'go'), '#!/bin/sh\n[ "$1" != build ] || exec sleep 1000\n', {
    mode: 0o755,
  })
  given = {
    ...(await freeStartPorts()),
    PATH: `${bin}:${process.env['PATH']}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    // What ends also writes its log to the terminal.
    LOG_LEVEL: 'info',
    ...upstreamCredentials,
    DARKROOM_CONFIG: await writeOperatorFile(
      join(folder, 'config.json'),
      simulatorFile(simulator.url),
    ),
  }
  await startReady(inTerminal)
  return async () => {
    start.signal('SIGKILL')
    await until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined)
    await simulator.close()
    rmSync(folder, { recursive: true, force: true })
  }
}, stackStartMsMax)

/** A terminal that runs the start, and a reader of its output that leaves when the start is ready. */
const inTerminal: Wrap = (command) => ['script', '-qec', `${command}; exit`, '/dev/null']
const withReader: Wrap = (command) => ['sh', '-c', `${command} | sed '/is ready/q'`]

async function startReady(wrap?: Wrap): Promise<void> {
  start = await spawnStart(dataDir, join(folder, 'log'), given, wrap)
  const environment = await start.ready(stackStartMsMax, { withTemporal: false })
  client = demoClient(dataDir, environment['PUBLIC_URL'])
}

/** Sends a signal to one process. There is none with the number 0, which would be this process and all others here. */
function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (!pid) throw new Error(`no process for ${signal}`)
  process.kill(pid, signal)
}

const seen = () => createSimulatorClient(simulator.url)
const submit = async (prompt: string) => (await client.accepted(generateBody({ prompt }))).task_id
const statusOf = async (taskId: string) => {
  const record: TaskRecord = JSON.parse(await (await client.lookup(taskId)).text())
  return record.status
}
const allEnded = () =>
  until('the end of all parts', () => processesOn(dataDir).length === 0 || undefined, 60_000)

/**
 * Has one call of each kind under way, ends the start by `end`, and lets the calls go on a second later. Returns what the
 * caller got, what the next start says of the task, and how many calls there were. `next` runs the next start.
 */
async function endDuringCalls(prompt: string, end: () => Promise<void> | void, next?: Wrap) {
  const held = `${prompt} [sim:hold]`
  const taskId = await submit(held)
  const answer = generate(client, { prompt: held })
  await seen().waitForCalls(2, { prompt })
  await end()
  await sleep(1_000)
  expect(await seen().release({ prompt })).toBe(2)
  const { status: answered } = await answer
  await allEnded()
  expect(readdirSync(dataDir)).not.toContain('runtime.json')
  await startReady(next)
  const { length: calls } = await seen().calls({ prompt })
  return { answered, task: await statusOf(taskId), calls }
}

const whole = { answered: 200, task: 'succeeded', calls: 2 }

describe('calls under way finish, each made once, and the next start has their images', () => {
  it(
    'after a closed terminal, which counts once, however often kernel and shell tell of it',
    async () => {
      const end = async () => {
        const pid = start.mainPid()
        // Closes the other end of the terminal.
        start.signal('SIGKILL')
        await sleep(600)
        kill(pid, 'SIGHUP')
      }
      expect(await endDuringCalls('Terminal', end, withReader)).toEqual(whole)
    },
    2 * stackStartMsMax,
  )

  it(
    'after the reader of the output has gone, as `head` does',
    async () => {
      // The next line of the output is that this part ended.
      const end = () => kill(start.partPid('admin'), 'SIGKILL')
      expect(await endDuringCalls('Reader', end)).toEqual(whole)
    },
    2 * stackStartMsMax,
  )

  it(
    'after Ctrl-C while the worker calls and the API is not ready yet',
    async () => {
      // A stopped start does not replace its worker, so that the task stays queued for the next start.
      start.signal('SIGSTOP')
      kill(start.partPid('worker'), 'SIGKILL')
      const prompt = 'Early'
      const taskId = await submit(`${prompt} [sim:hold]`)
      start.signal('SIGKILL')
      await allEnded()

      start = await spawnStart(dataDir, join(folder, 'log'), given)
      const api = await until('the API', () => start.partPid('api') || undefined, stackStartMsMax)
      kill(api, 'SIGSTOP')
      await seen().waitForCalls(1, { prompt }, 60_000)
      start.signal('SIGINT')
      await sleep(1_000)
      kill(api, 'SIGCONT')
      expect(start.output()).not.toContain('Darkroom is ready')
      expect(await seen().release({ prompt })).toBe(1)
      expect(await start.ended).toBe(0)
      await startReady()
      expect(await statusOf(taskId)).toBe('succeeded')
      expect(await seen().calls({ prompt })).toHaveLength(1)
    },
    2 * stackStartMsMax,
  )
})

describe('a start without calls ends at once, with 0, and says no error', () => {
  const endBy = async (signal: NodeJS.Signals) => {
    start.signal(signal)
    const end = await start.ended
    expect(start.output()).not.toMatch(/^\w*Error\b|unexpectedly|Darkroom is ready/m)
    expect(readdirSync(dataDir)).not.toContain('runtime.json')
    return end
  }

  it('at Ctrl-C while it waits for what a killed start has left', async () => {
    start.signal('SIGTERM')
    await allEnded()
    const lock = [join(dataDir, 'parts.lock'), 'sh', '-c', 'echo locked; exec sleep 1000']
    const left = spawn('flock', ['--no-fork', ...lock])
    await once(left.stdout, 'data')
    start = await spawnStart(dataDir, join(folder, 'log'), given)
    await until('the wait', () => start.output().includes('Waiting for the end') || undefined)
    expect(await endBy('SIGINT')).toBe(0)
    left.kill()
    await allEnded()
  })

  it.each([
    ['SIGINT', 'postgres'],
    ['SIGHUP', 'worker'],
    ['SIGTERM', 'api'],
  ] as const)(
    'at %s while %s starts',
    async (signal, part) => {
      start = await spawnStart(dataDir, join(folder, 'log'), given)
      await until(part, () => start.partPid(part) || undefined, stackStartMsMax)
      expect(await endBy(signal)).toBe(0)
      await allEnded()
    },
    stackStartMsMax,
  )
})
