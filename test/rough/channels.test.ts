import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, errorOf } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { assertLedgerVerifies, moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { runStatus } from '../support/service/operatorRuns.ts'
import { startTestService } from '../support/service/testService.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'
import { handleOf } from '../support/temporal/temporalWorld.ts'
import { timed, until } from '../support/timing.ts'

type Channel = {
  readonly name: string
  readonly paused_at: string | null
  readonly pause_reason: string | null
  readonly in_flight: number
  readonly cooldowns: readonly { readonly model: string; readonly until: string }[]
}

// Channels that cool down and that are paused, and then what workers do without Temporal: the first call of synchronous
// tasks, and while Temporal is away, everything.

const way = await openCuttableWay((await embeddedStack()).temporalAddress)
const service = await startTestService({
  environment: { TEMPORAL_ADDRESS: way.address, TEMPORAL_UI_URL: 'http://127.0.0.1:1' },
})
const account = await service.account()
const client = createClient(service.url, account.secret)
afterAll(async () => {
  way.cut(false)
  await service.stop()
  way.close()
})

const json = <Answer>(...args: string[]) => darkroomJson<Answer>(args, service.environment)
const proModel = 'familya-3-pro-image'
const flashModel = 'familya-2.5-flash-image'
const vipModel = 'familyb-image-2-vip'
const waitMs = 2_000

async function channel(name: string): Promise<Channel | undefined> {
  return (await json<Channel[]>('channel', 'list')).find((one) => one.name === name)
}

async function submit(model: string, prompt: string): Promise<string> {
  return (await client.accepted(generateBody({ model, prompt }))).task_id
}

/** Waits for the cooldown of a model, and returns its length in seconds. */
function cooldownOf(model: string): Promise<number> {
  return until('the cooldown', async () => {
    const { rows } = await service.pool.query<{ seconds: number }>(
      'select extract(epoch from until_at - now())::int as seconds from cooldown where model = $1',
      [model],
    )
    return rows[0]?.seconds
  })
}

const calls = (prompt: string) => service.simulator.calls({ prompt })
const active = { paused_at: null, pause_reason: null, cooldowns: [] }

/** Ids of the tasks accepted while their channel was paused, and when the last channel was resumed. */
const waiting: string[] = []
let resumedAt = 0

describe('a channel whose credential the upstream refuses', () => {
  it('cools down for every model, for a minute, after the first refused task', async () => {
    const record = await client.ended(await submit(vipModel, 'Refused [sim:401]'))
    expect(record).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
    const listed = await channel('b-main')
    expect(listed).toMatchObject({ paused_at: null, cooldowns: [{ model: '*' }] })
    const seconds = (Date.parse(listed?.cooldowns[0]?.until ?? '') - Date.now()) / 1_000
    expect(seconds).toBeGreaterThan(40)
    expect(seconds).toBeLessThanOrEqual(60)
    const other = await channel('a-main')
    expect(other?.cooldowns.map(({ model }) => model)).not.toContain('*')
  })

  it('is then no longer called: tasks wait, and synchronous calls fail at once', async () => {
    for (let count = 0; count < 6; count += 1) waiting.push(await submit(vipModel, 'While paused'))
    const tookMs = await timed(async () => {
      const answer = await generate(client, { prompt: 'While paused' })
      expect(answer.status).toBe(500)
      expect(await errorOf(answer)).toMatchObject({ code: 'do_request_failed' })
    })
    expect(tookMs).toBeLessThan(5_000)
    for (const taskId of waiting) {
      expect(await (await client.lookup(taskId)).json()).toMatchObject({ status: 'queued' })
    }
    expect(await calls('While paused')).toEqual([])
  })
})

describe('a channel that the operator pauses', () => {
  it('finishes the call under way and stays paused', async () => {
    const underWay = await submit(proModel, 'Under way [sim:hold]')
    await service.simulator.waitForCalls(1, { prompt: 'Under way' })
    const paused = await json<Channel>('channel', 'pause', 'a-main', '--reason', 'key rotation')
    expect(paused).toMatchObject({ name: 'a-main', pause_reason: 'key rotation', in_flight: 1 })
    await service.simulator.release({ prompt: 'Under way' })
    expect(await client.ended(underWay)).toMatchObject({ status: 'succeeded' })

    for (let count = 0; count < 3; count += 1) waiting.push(await submit(proModel, 'While paused'))
    // A second pause keeps the first reason.
    expect(await json<Channel>('channel', 'pause', 'a-main')).toMatchObject({
      paused_at: paused.paused_at,
      pause_reason: 'key rotation',
      in_flight: 0,
    })
    expect(await calls('While paused')).toEqual([])
  })
})

describe('`channel resume`', () => {
  it.each([
    ['a-main', proModel],
    ['b-main', vipModel],
  ])('makes the channel serve new tasks at once: %s', async (name, model) => {
    expect(await json('channel', 'resume', name)).toMatchObject({ name, ...active })
    resumedAt = Date.now()
    const now = await client.ended(await submit(model, 'After the pause'))
    expect(now).toMatchObject({ status: 'succeeded' })
  })
})

describe('a refusal with Retry-After', () => {
  it('holds back every call to its model until it has passed; then all tasks succeed [limit-3]', async () => {
    const model = 'familyb-image-2-web'
    const first = await submit(model, `First [sim:429 retry-after=${waitMs / 1_000} times=1]`)
    await cooldownOf(model)
    const taskIds = [first, await submit(model, 'Next')]
    const records = await Promise.all(taskIds.map((taskId) => client.ended(taskId)))
    expect(records.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    const [refused, ...later] = await service.simulator.calls({ model })
    expect(refused?.status).toBe(429)
    expect(later.map(({ status }) => status)).toEqual([200, 200])
    const gapsMs = later.map(({ at }) => at - (refused?.at ?? 0))
    expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(waitMs)
    for (const taskId of taskIds) {
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    }
  })
})

describe('a Retry-After of one year', () => {
  const fault = '[sim:429 retry-after=31536000]'

  it('counts for 15 minutes at most, during which a cancel costs nothing [money-5]', async () => {
    const taskId = await submit(flashModel, `Year ${fault}`)
    const seconds = await cooldownOf(flashModel)
    expect(seconds).toBeLessThanOrEqual(900)
    expect(seconds).toBeGreaterThan(800)
    const delaySeconds = await until('the durable wait', () => nextRunSeconds(taskId))
    expect(delaySeconds).toBeLessThanOrEqual(901)
    expect(delaySeconds).toBeGreaterThan(800)
    expect(await (await client.lookup(taskId)).json()).toMatchObject({ status: 'processing' })

    expect(await json('task', 'cancel', taskId)).toEqual({ cancelled: true })
    expect(await client.ended(taskId)).toMatchObject({ error: { code: 'cancelled' } })
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    expect(await service.simulator.calls({ model: flashModel })).toHaveLength(1)
    await until('a Cancelled run', async () =>
      (await runStatus(service.temporal, taskId)) === 'CANCELLED' ? true : undefined,
    )
  })

  /** Returns in how many seconds Temporal runs the activity again. */
  async function nextRunSeconds(taskId: string): Promise<number | undefined> {
    const { raw } = await handleOf(service.temporal, taskId).describe()
    const seconds = Number(raw.pendingActivities?.[0]?.currentRetryInterval?.seconds ?? 0)
    return seconds > 0 ? seconds : undefined
  }
})

it('a worker that does not know the address of images warns that webhooks need it', () => {
  expect(service.workers[0]?.output()).toContain('PUBLIC_URL is not set')
})

type Shown = {
  readonly workflow_url?: string
  readonly timeline: readonly { readonly event: string; readonly via?: string }[]
}
async function show(taskId: string): Promise<Shown> {
  const run = await runDarkroom(['task', 'show', taskId, '--json'], service.environment)
  const shown: Shown = JSON.parse(run.stdout)
  return shown
}
const viasOf = ({ timeline }: Shown) => timeline.flatMap(({ via }) => via ?? [])

async function call(prompt: string) {
  const answer = await generate(client, { prompt })
  await answer.arrayBuffer()
  return { status: answer.status, taskId: taskIdOf(answer) }
}

const hasRun = async (taskId: string) => (await runStatus(service.temporal, taskId)) !== 'NONE'

describe('a synchronous task that its first call decides', () => {
  beforeAll(() => service.pool.query('delete from cooldown'))

  it.each([
    ['an image', 'Lighthouse', 200, 'succeeded image', ['hold', 'settle']],
    [
      'a refusal',
      'Busy [sim:429 retry-after=30]',
      429,
      'refused rate_limited',
      ['hold', 'release'],
    ],
    [
      'a moderation refusal',
      'Bad [sim:moderation]',
      400,
      'rejected content_policy',
      ['hold', 'release'],
    ],
  ] as const)('has no run: %s', async (_name, prompt, status, outcome, money) => {
    const { status: answered, taskId } = await call(prompt)
    expect(answered).toBe(status)
    expect(await outcomesOf(service.pool, taskId)).toEqual([outcome])
    expect(await moneyOf(service.pool, taskId)).toEqual(money)
    expect(await hasRun(taskId)).toBe(false)
    const shown = await show(taskId)
    expect(shown.workflow_url).toBeUndefined()
    expect(viasOf(shown)).toEqual(['direct'])
    await service.pool.query('delete from cooldown')
  })
})

describe('a synchronous task that must go on', () => {
  it('goes on as a run after an unknown outcome', async () => {
    let tries = 0
    // While Temporal does not answer in time, a worker carries on by itself.
    const taskId = await until(
      'a task that has a run',
      async () => {
        const called = await call(`Broken once ${(tries += 1)} [sim:500 times=1]`)
        expect(called.status).toBe(200)
        const vias = viasOf(await show(called.taskId))
        return vias.includes('workflow') ? called.taskId : undefined
      },
      60_000,
    )
    expect(await outcomesOf(service.pool, taskId)).toEqual([
      'unknown server_error',
      'succeeded image',
    ])
    const shown = await show(taskId)
    expect(viasOf(shown)).toEqual(['direct', 'workflow'])
    expect(shown.workflow_url).toContain(taskId)
    const replayed = await json('task', 'replay', taskId)
    expect(replayed).toMatchObject({ replays: true })
  })

  it('is answered within seconds when all notifications are lost, with one call', async () => {
    const cut = setInterval(() => {
      const text = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'darkroom-messages'`
      service.pool.query(text).catch(() => {})
    }, 100)
    const calls = await Promise.all(Array.from({ length: 10 }, (_, n) => call(`Cut ${n} `)))
    clearInterval(cut)
    expect(calls.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await service.simulator.calls({ prompt: 'Cut' })).toHaveLength(10)
  }, 30_000)
})

describe('tasks that waited while their channel was paused', () => {
  it('succeed within a minute of `channel resume`, each with one call and one charge', async () => {
    for (const taskId of waiting) {
      const record = await client.ended(taskId)
      expect(record).toMatchObject({ status: 'succeeded' })
      expect(Date.parse(record.completed_at ?? '') - resumedAt).toBeLessThan(60_000)
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
      expect(await outcomesOf(service.pool, taskId)).toEqual(['succeeded image'])
    }
    expect(await calls('While paused')).toHaveLength(waiting.length)
    await assertLedgerVerifies(service.pool)
  })
})

describe('while Temporal is unreachable', () => {
  const model = 'familya-2.5-flash-image'

  it('all images are made, after refusals and waits too; when it is back, what still lives gets its run', async () => {
    way.cut(true)
    const submit = async (prompt: string, given = {}) =>
      (await client.accepted(generateBody({ prompt, ...given }))).task_id
    const submitted = await Promise.all(
      Array.from({ length: 8 }, (_, n) => submit(`Alone submitted ${n} `)),
    )
    const failing = await submit('Alone bad [sim:moderation]')
    const submitsMs: number[] = []
    while (submitsMs.length < 5) submitsMs.push(await timed(() => submit('Alone at once')))
    // A submit that waited for Temporal would take seconds.
    expect(submitsMs.toSorted((a, b) => a - b)[2]).toBeLessThan(1_000)
    const refused = await submit('Alone refused [sim:429 retry-after=2 times=1]', {
      model: 'familya-3-pro-image',
    })
    const waiting = await submit('Alone waiting [sim:429 retry-after=12 times=1]', { model })
    const calls = await Promise.all(Array.from({ length: 8 }, (_, n) => call(`Alone ${n} `)))
    expect(calls.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const broken = await call('Alone broken [sim:500 times=1]')
    expect(broken.status).toBe(200)
    const ends = await Promise.all([...submitted, refused].map((taskId) => client.ended(taskId)))
    expect(ends.map(({ status }) => status)).toEqual(Array(9).fill('succeeded'))
    expect((await client.ended(failing)).status).toBe('failed')
    const alone = [...submitted, refused, failing, broken.taskId]
    const { rows: vias } = await service.pool.query<{ via: string }>(
      'select distinct via from attempt where task_id = any($1)',
      [alone],
    )
    expect(vias.map(({ via }) => via)).not.toContain('workflow')
    for (const taskId of alone) expect(await moneyOf(service.pool, taskId)).toHaveLength(2)
    expect(await service.simulator.calls({ prompt: 'Alone submitted' })).toHaveLength(8)

    way.cut(false)
    expect((await client.ended(waiting)).status).toBe('succeeded')
    expect(viasOf(await show(waiting))).toEqual(['direct', 'workflow'])
    await until('its run', async () => ((await hasRun(waiting)) ? true : undefined))
    for (const taskId of submitted) expect(await hasRun(taskId)).toBe(false)
  }, 90_000)
})
