import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { workflowIdOf } from '../../src/domain/ids.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { darkroomJson, runCommands, runDarkroom } from '../support/service/darkroomCli.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { timed, until } from '../support/timing.ts'

// Synchronous tasks are offered to a worker, which makes the first call without Temporal.

/** Forwards connections to Temporal until it is cut. */
async function temporalProxy() {
  const { temporalAddress } = await embeddedStack()
  const [host = '', port = ''] = temporalAddress.split(':')
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(Number(port), host)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      from.pipe(to)
    }
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    address: `127.0.0.1:${address.port}`,
    cut: (cut: boolean) => {
      isCut = cut
      if (cut) for (const socket of sockets) socket.destroy()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

let proxy: Awaited<ReturnType<typeof temporalProxy>>
let service: TestService
let client: Client
beforeAll(async () => {
  proxy = await temporalProxy()
  service = await startTestService({
    environment: { TEMPORAL_ADDRESS: proxy.address, TEMPORAL_UI_URL: 'http://127.0.0.1:1' },
  })
  client = createClient(service.url, (await service.account()).secret)
  return async () => {
    proxy.cut(false)
    await service.stop()
    proxy.close()
  }
}, stackStartMsMax)

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
    const needRun = ['history', 'replay'].map((command) => ['task', command, taskId])
    for (const run of await runCommands(needRun, service.environment)) {
      expect(run.exitCode).toBe(1)
      expect(run.stderr).toContain(`Temporal has no run of ${taskId}`)
    }
    await service.pool.query('delete from cooldown')
  })

  it('can be retried when it failed', async () => {
    const { taskId } = await call('Once bad [sim:moderation times=1]')
    const { task_id: retried } = await darkroomJson<{ readonly task_id: string }>(
      ['task', 'retry', taskId],
      service.environment,
    )
    expect((await client.ended(retried)).status).toBe('succeeded')
    expect(viasOf(await show(retried))).toEqual(['workflow'])
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

  it('is started within three seconds when nobody takes the offer', async () => {
    // A process that beats, according to its row, and does not exist.
    await service.pool.query(
      `insert into worker_process (process_id, accepting, seen_at)
       values ('ghost', true, now() + interval '1 hour')`,
    )
    await service.pool.query(`update worker_process set accepting = (process_id = 'ghost')`)
    const beats = setInterval(() => {
      const text = `update worker_process set accepting = (process_id = 'ghost')`
      service.pool.query(text).catch(() => {})
    }, 50)
    const tookMs = await timed(async () => {
      const ghosted = await Promise.all(
        Array.from({ length: 5 }, (_, n) => call(`Lost offer ${n}`)),
      )
      expect(ghosted.map(({ status }) => status)).toEqual(Array(5).fill(200))
    })
    clearInterval(beats)
    await service.pool.query(`delete from worker_process where process_id = 'ghost'`)
    await until('the next beat of the worker', async () => {
      const { rowCount } = await service.pool.query('select from worker_process where accepting')
      return rowCount === 1 ? true : undefined
    })
    expect(tookMs).toBeLessThan(6_000)
    expect(await service.simulator.calls({ prompt: 'Lost offer' })).toHaveLength(5)
  })

  it('is answered within a second or so when the notifications of its offer or its end are lost', async () => {
    const cut = setInterval(() => {
      const text = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name in ('darkroom-notify', 'darkroom-listen')`
      service.pool.query(text).catch(() => {})
    }, 100)
    const calls = await Promise.all(Array.from({ length: 10 }, (_, n) => call(`Cut ${n} `)))
    clearInterval(cut)
    expect(calls.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await service.simulator.calls({ prompt: 'Cut' })).toHaveLength(10)
  }, 30_000)
})

describe('while Temporal is unreachable', () => {
  it('synchronous calls go on, and what must go on is started later', async () => {
    proxy.cut(true)
    const calls = await Promise.all(Array.from({ length: 5 }, (_, n) => call(`Alone ${n}`)))
    expect(calls.map(({ status }) => status)).toEqual(Array(5).fill(200))
    const broken = call('Broken alone [sim:500 times=1]')
    await service.simulator.waitForCalls(1, { prompt: 'Broken alone' })
    const outcome = async () => {
      const [first] = await service.simulator.calls({ prompt: 'Broken alone' })
      return typeof first?.status === 'number' ? true : undefined
    }
    await until('the first call', outcome)
    proxy.cut(false)
    expect((await broken).status).toBe(200)
  }, 60_000)
})
