import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { silentMs } from '../../src/domain/limits.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generateMany } from '../support/clients/syncCalls.ts'
import type { CuttableWay } from '../support/cuttableWay.ts'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { freePort } from '../support/ports.ts'
import { endFirst } from '../support/service/endProcess.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { spawnTestProcess } from '../support/service/testProcess.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'

const inFlight = 30

/** Longer than the silence after which a call counts as lost. */
const awayMs = silentMs + 5_000
/** Longer than a worker needs after an outage until it may say again that a call is lost. */
const afterMs = silentMs + 5_000

let service: TestService
let account: TestAccount
/** The way of all processes to PostgreSQL. */
let way: CuttableWay
/** A client of the API that was started last. */
let client: () => Client
beforeAll(async () => {
  service = await startTestService({
    workers: 2,
    pooler: async (databaseUrl) => {
      const url = new URL(databaseUrl)
      way = await openCuttableWay(`127.0.0.1:${url.port}`)
      url.host = way.address
      return url.href
    },
    // The session connections go the same way.
    environment: { DATABASE_SESSION_URL: '' },
  })
  account = await service.account()
  client = () => createClient(service.apis.at(-1)?.url ?? '', account.secret)
  return async () => {
    way.cut(false)
    await assertLedgerVerifies(service.pool)
    await service.stop()
    way.close()
  }
}, stackStartMsMax)

const calls = (prompt: string) => service.simulator.calls({ prompt })
const begun = (count: number, prompt: string) => service.simulator.waitForCalls(count, { prompt })
const allSucceeded = Array(inFlight).fill(200)

describe('an outage of PostgreSQL during calls', () => {
  it(
    'makes no process lose them: each is made once and charged once',
    async () => {
      const prompt = 'Outage [sim:hold]'
      const submits = Array.from({ length: 5 }, () => client().accepted(generateBody({ prompt })))
      const ids = (await Promise.all(submits)).map(({ task_id }) => task_id)
      const answers = generateMany(client(), 5, prompt)
      await begun(10, prompt)
      way.cut(true)
      await sleep(awayMs)
      way.cut(false)
      await sleep(afterMs)
      await service.simulator.release({ prompt })
      expect((await answers).map((answer) => answer?.status)).toEqual(Array(5).fill(200))
      const ends = await Promise.all(ids.map((taskId) => client().ended(taskId)))
      expect(ends.map(({ status }) => status)).toEqual(Array(5).fill('succeeded'))
      expect(await calls(prompt)).toHaveLength(10)
      for (const taskId of ids) {
        expect(await outcomesOf(service.pool, taskId)).toEqual(['succeeded image'])
        expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
      }
      // One worker makes all calls of the tests below.
      expect(await endFirst(service.workers, 'SIGTERM')).toBe(0)
    },
    awayMs + afterMs + 60_000,
  )
})

describe('kill -9 of an API', () => {
  it('during synchronous calls repeats no call: each repeat with the same key gets its image [sync-10]', async () => {
    const prompt = 'Api killed'
    const lost = generateMany(client(), inFlight, `${prompt} [sim:hold]`)
    await begun(inFlight, prompt)
    await endFirst(service.apis, 'SIGKILL')
    await service.startApi()
    expect(await lost).toEqual(Array(inFlight).fill(undefined))
    await service.simulator.release({ prompt })
    const repeated = await generateMany(client(), inFlight, `${prompt} [sim:hold]`)
    expect(repeated.map((answer) => answer?.status)).toEqual(allSucceeded)
    expect(await calls(prompt)).toHaveLength(inFlight)
    for (const answer of repeated) {
      expect(await moneyOf(service.pool, answer?.taskId ?? '')).toEqual(['hold', 'settle'])
    }
  })
})

describe('SIGTERM during calls', () => {
  it('lets an API answer its synchronous calls and a worker finish its calls of both kinds, each once, and exit with 0 [sync-10]', async () => {
    const prompt = 'Stopped'
    const { task_id } = await client().accepted(
      generateBody({ prompt: `${prompt} late [sim:delay ms=4000]` }),
    )
    const answers = Promise.all([
      generateMany(client(), inFlight - 1, `${prompt} [sim:delay ms=1500]`),
      // Ends after the call of the run, whose end the worker awaits too.
      generateMany(client(), 1, `${prompt} last [sim:delay ms=6500]`),
    ])
    await begun(inFlight + 1, prompt)
    const ends = [endFirst(service.apis, 'SIGTERM'), endFirst(service.workers, 'SIGTERM')]
    expect(await Promise.all(ends)).toEqual([0, 0])
    // No worker runs now, so the stopped one has settled the task.
    expect(await moneyOf(service.pool, task_id)).toEqual(['hold', 'settle'])
    expect((await answers).flat().map((answer) => answer?.status)).toEqual(allSucceeded)
    const made = await calls(prompt)
    expect(made).toHaveLength(inFlight + 1)
    expect(made.filter(({ clientAborted }) => clientAborted)).toEqual([])
  })

  // No other worker runs here: the test before has stopped it.
  it('stops a worker cleanly from its first beat on', async () => {
    const rows = async () => (await service.pool.query('select from worker_process')).rowCount
    const worker = spawnTestProcess({
      script: 'src/worker.ts',
      args: ['--exit-with-parent'],
      environment: {
        ...service.environment,
        PUBLIC_URL: 'https://images.example.test',
        WORKER_INTERNAL_PORT: String(await freePort()),
      },
      logPath: join(tempFolder(), 'worker.log'),
    })
    await worker.ready('worker', stackStartMsMax, async () => (await rows()) === 1)
    worker.signal('SIGTERM')
    expect(await worker.ended).toBe(0)
    expect(await rows()).toBe(0)
  })
})
