import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { runStatus } from '../support/service/operatorRuns.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

type Channel = {
  readonly name: string
  readonly paused_at: string | null
  readonly pause_reason: string | null
  readonly in_flight: number
  readonly cooldowns: readonly { readonly model: string; readonly until: string }[]
}

let service: TestService
let client: Client
beforeAll(async () => {
  service = await startTestService({ workers: 2 })
  client = createClient(service.url, (await service.account()).secret)
}, stackStartMsMax)
afterAll(() => service.stop())

const json = <Answer>(...args: string[]) => darkroomJson<Answer>(args, service.environment)
const familyA = 'familya-3-pro-image'
const familyB = 'familyb-image-2-vip'

async function channel(name: string): Promise<Channel | undefined> {
  return (await json<Channel[]>('channel', 'list')).find((one) => one.name === name)
}

async function submit(model: string, prompt: string): Promise<string> {
  return (await client.accepted(generateBody({ model, prompt }))).task_id
}

const active = { paused_at: null, pause_reason: null, cooldowns: [] }

/** Ids of the tasks accepted while family B's channel was paused. */
const waiting: string[] = []

describe('a channel whose credential the upstream refuses', () => {
  it('is paused with the reason at the second refused task', async () => {
    for (const prompt of ['First [sim:401]', 'Second [sim:401]']) {
      const record = await client.ended(await submit(familyB, prompt), { everyMs: 50 })
      expect(record).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
    }
    expect(await channel('b-main')).toMatchObject({
      paused_at: expect.any(String),
      pause_reason: 'upstream refuses our access: credential (HTTP 401)',
    })
    expect(await channel('a-main')).toMatchObject(active)
  })

  it('is then no longer called: tasks wait, and synchronous calls fail at once', async () => {
    for (let count = 0; count < 6; count += 1) waiting.push(await submit(familyB, 'While paused'))
    const startedAt = performance.now()
    const answer = await generate(client, { prompt: 'While paused' })
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({ error: { code: 'do_request_failed' } })
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    for (const taskId of waiting) {
      expect(await (await client.lookup(taskId)).json()).toMatchObject({ status: 'queued' })
    }
    expect(await service.simulator.calls({ prompt: 'While paused' })).toEqual([])
  })

  it('is called again at once for new tasks after `channel resume`', async () => {
    expect(await json('channel', 'resume', 'b-main')).toMatchObject({ name: 'b-main', ...active })
    const now = await client.ended(await submit(familyB, 'After the pause'))
    expect(now).toMatchObject({ status: 'succeeded' })
  })
})

describe('a channel that cools down', () => {
  it('is listed with the model and the end time until `channel resume` ends the cooldown', async () => {
    const refused = await submit(familyA, 'Refused [sim:429 retry-after=600 times=1]')
    const [cooldown] = await until('the cooldown', async () => {
      const found = (await channel('a-main'))?.cooldowns
      return found?.length === 1 ? found : undefined
    })
    expect(cooldown?.model).toBe(familyA)
    const seconds = (Date.parse(cooldown?.until ?? '') - Date.now()) / 1_000
    expect(seconds).toBeGreaterThan(570)
    expect(seconds).toBeLessThanOrEqual(600)
    const held = await submit(familyA, 'Cooled')
    await sleep(500)
    expect(await service.simulator.calls({ prompt: 'Cooled' })).toEqual([])

    expect(await json('channel', 'resume', 'a-main')).toMatchObject(active)
    const next = await client.ended(await submit(familyA, 'At once'), { limitMs: 20_000 })
    expect(next).toMatchObject({ status: 'succeeded' })
    for (const taskId of [refused, held]) {
      expect(await json('task', 'cancel', taskId)).toEqual({ cancelled: true })
    }
  })
})

describe('`task cancel` of a task with its call under way', () => {
  it('exits 1 and cancels nothing; the call finishes and is charged [money-6]', async () => {
    const taskId = await submit(familyB, 'Too late [sim:hold]')
    await service.simulator.waitForCalls(1, { prompt: 'Too late' })
    const run = await runDarkroom(['task', 'cancel', taskId, '--json'], service.environment)
    expect({ ...run, stdout: JSON.parse(run.stdout) }).toEqual({
      exitCode: 1,
      stdout: { cancelled: false },
      stderr: '',
    })
    await service.simulator.release()
    expect(await client.ended(taskId)).toMatchObject({ status: 'succeeded' })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    await until('a Completed run', async () =>
      (await runStatus(service.temporal, taskId)) === 'COMPLETED' ? true : undefined,
    )
    const over = await runDarkroom(['task', 'cancel', taskId], service.environment)
    expect(over).toMatchObject({ exitCode: 1, stdout: 'Not cancelled: the task is succeeded.\n' })
  })
})

describe('tasks that waited while their channel was paused', () => {
  it('succeed within 20 s of `channel resume`, each with one call and one charge', async () => {
    for (const taskId of waiting) {
      const record = await client.ended(taskId, { limitMs: 20_000 })
      expect(record).toMatchObject({ status: 'succeeded' })
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
      expect(await outcomesOf(service.pool, taskId)).toEqual(['succeeded image'])
    }
    expect(await service.simulator.calls({ prompt: 'While paused' })).toHaveLength(6)
  })
})

// After the tasks above have ended: a killed worker would take calls of theirs with it.
describe('a channel that the operator pauses', () => {
  it('finishes the call under way and stays paused for all workers and across restarts', async () => {
    const underWay = await submit(familyA, 'Under way [sim:hold]')
    await service.simulator.waitForCalls(1, { prompt: 'Under way' })
    expect(await channel('a-main')).toMatchObject({ in_flight: 1 })
    const paused = await json<Channel>('channel', 'pause', 'a-main', '--reason', 'key rotation')
    expect(paused).toMatchObject({ name: 'a-main', pause_reason: 'key rotation', in_flight: 1 })
    await service.simulator.release()
    expect(await client.ended(underWay)).toMatchObject({ status: 'succeeded' })

    const [killed] = service.workers.splice(0, 1)
    killed?.signal('SIGKILL')
    const tasks = [await submit(familyA, 'Held back'), await submit(familyA, 'Held back')]
    await service.startWorker()
    tasks.push(await submit(familyA, 'Held back'))
    await sleep(1_000)
    expect(await service.simulator.calls({ prompt: 'Held back' })).toEqual([])
    expect(await channel('a-main')).toMatchObject({ pause_reason: 'key rotation', in_flight: 0 })
    // A second pause keeps the first reason.
    expect(await json<Channel>('channel', 'pause', 'a-main')).toMatchObject({
      paused_at: paused.paused_at,
      pause_reason: 'key rotation',
    })
    const unknown = await runDarkroom(['channel', 'pause', 'a-none'], service.environment)
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' })

    for (const taskId of tasks) {
      expect(await json('task', 'cancel', taskId)).toEqual({ cancelled: true })
      expect(await client.ended(taskId)).toMatchObject({ error: { code: 'cancelled' } })
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
      // Temporal may have dispatched the run to the killed worker and waits 10 s for that worker.
      await until(
        'a Cancelled run',
        async () =>
          (await runStatus(service.temporal, taskId)) === 'CANCELLED' ? true : undefined,
        60_000,
      )
    }
    expect(await json('channel', 'resume', 'a-main')).toMatchObject(active)
  }, 120_000)
})

describe('the ledger after all tests', () => {
  it('verifies, and no credits are held', async () => {
    expect(await json('ledger', 'verify')).toEqual({ ok: true, violations: [] })
    const { rows } = await service.pool.query('select sum(held)::int as held from balance')
    expect(rows).toEqual([{ held: 0 }])
  })
})
