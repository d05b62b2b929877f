import { afterAll, describe, expect, it } from 'vitest'
import { workflowIdOf } from '../../src/domain/ids.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { startTestService } from '../support/service/testService.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'
import { openCuttableWay } from '../support/cuttableWay.ts'
import { timed, until } from '../support/timing.ts'

// What workers do without Temporal: the first call of synchronous tasks, and while Temporal is away, everything.

const way = await openCuttableWay((await embeddedStack()).temporalAddress)
const service = await startTestService({
  environment: { TEMPORAL_ADDRESS: way.address, TEMPORAL_UI_URL: 'http://127.0.0.1:1' },
})
const client = createClient(service.url, (await service.account()).secret)
afterAll(async () => {
  way.cut(false)
  await service.stop()
  way.close()
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
  const shown: Shown = JSON.parse(run?.stdout ?? '')
  return shown
}
const viasOf = ({ timeline }: Shown) => timeline.flatMap(({ via }) => via ?? [])

async function call(prompt: string) {
  const answer = await generate(client, { prompt })
  await answer.arrayBuffer()
  return { status: answer.status, taskId: taskIdOf(answer) }
}

async function hasRun(taskId: string): Promise<boolean> {
  const handle = service.temporal.temporal.client.workflow.getHandle(workflowIdOf(taskId))
  return handle.describe().then(
    () => true,
    () => false,
  )
}

describe('a synchronous task that its first call decides', () => {
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
    expect(viasOf(shown)).toEqual(['offer'])
    await service.pool.query('delete from cooldown')
  })
})

describe('a synchronous task that must go on', () => {
  it('goes on as a run after an unknown outcome', async () => {
    const { status, taskId } = await call('Broken once [sim:500 times=1]')
    expect(status).toBe(200)
    expect(await outcomesOf(service.pool, taskId)).toEqual([
      'unknown server_error',
      'succeeded image',
    ])
    const shown = await show(taskId)
    expect(viasOf(shown)).toEqual(['offer', 'workflow'])
    expect(shown.workflow_url).toContain(taskId)
    const replayed = await darkroomJson(['task', 'replay', taskId], service.environment)
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
    expect(viasOf(await show(waiting))).toEqual(['offer', 'workflow'])
    await until('its run', async () => ((await hasRun(waiting)) ? true : undefined))
    for (const taskId of submitted) expect(await hasRun(taskId)).toBe(false)
  }, 90_000)
})
