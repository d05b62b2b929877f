import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { cancelTask } from '../../src/store/tasks/cancelTask.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { timed, until } from '../support/timing.ts'

let service: CalmService
let client: Client
beforeAll(async () => {
  service = await calmService()
  client = createClient(service.url, (await service.account()).secret)
}, stackStartMsMax)

async function heldTask(prompt: string): Promise<string> {
  const { task_id } = await client.accepted(generateBody({ prompt: `${prompt} [sim:hold]` }))
  await service.simulator.waitForCalls(1, { prompt })
  return task_id
}

const waitFor = (taskId: string, prefer: string, init: RequestInit = {}, url = client.url) =>
  fetch(`${url}/v1/tasks/${taskId}`, {
    headers: { authorization: client.authorization, prefer },
    ...init,
  })

async function countOf(where: string): Promise<number> {
  const { rows } = await service.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and ${where}`,
  )
  return rows[0]?.count ?? 0
}

describe('a lookup with `Prefer: wait=N`', () => {
  it.each(['/v1/tasks/', '/v1/task/'])(
    'is answered at the end of the task: %s [wait-1]',
    async (path) => {
      const prompt = `waited ${path}`
      const taskId = await heldTask(prompt)
      const answering = fetch(`${client.url}${path}${taskId}`, {
        headers: { authorization: client.authorization, prefer: 'wait=60' },
      })
      await sleep(300)
      await service.simulator.release()
      const answer = await answering
      expect(answer.headers.get('preference-applied')).toBe('wait=60')
      expect(await answer.json()).toMatchObject({ task_id: taskId, status: 'succeeded' })
    },
  )

  it('is answered after N seconds with the record as it is [wait-2]', async () => {
    const taskId = await heldTask('slow')
    const took = await timed(async () => {
      const answer = await waitFor(taskId, 'wait=1')
      expect(answer.headers.get('preference-applied')).toBe('wait=1')
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(await answer.json()).toMatchObject({ status: 'processing' })
    })
    expect(took).toBeGreaterThan(950)
    expect(took).toBeLessThan(5_000)
    expect(await timed(() => waitFor(taskId, 'wait=60', { method: 'HEAD' }))).toBeLessThan(900)
    expect(await timed(() => waitFor(taskId, 'wait=61'))).toBeLessThan(900)
    await service.simulator.release()
    await client.ended(taskId)
  })

  it('waits a second longer when the notification is lost [wait-8]', async () => {
    const prompt = 'lost [sim:429 retry-after=600 times=1]'
    const { task_id } = await client.accepted(
      generateBody({ model: 'familya-2.5-flash-image', prompt }),
    )
    const waiting = waitFor(task_id, 'wait=30')
    await until('the refusal', async () => {
      const { rowCount } = await service.pool.query(
        `select from attempt where task_id = $1 and class = 'refused'`,
        [task_id],
      )
      return rowCount === 1 ? true : undefined
    })
    await sleep(100)
    const lifetimes = { retentionSeconds: 60, tombstoneSeconds: 60, inputRetentionSeconds: 60 }
    const silent = { pool: service.pool, announceEnd: () => {}, ...lifetimes }
    expect(await cancelTask(silent, task_id, 'asked')).toBe('cancelled')
    const took = await timed(async () => {
      expect(await (await waiting).json()).toMatchObject({ error: { code: 'cancelled' } })
    })
    expect(took).toBeLessThan(2_000)
  })
})

const listening = `query = 'listen task_end'`

describe('many waiters', () => {
  it('of one task cost one listening connection, one statement a second and no call of Temporal [wait-7]', async () => {
    const taskId = await heldTask('many')
    const waits = Array.from({ length: 200 }, () => waitFor(taskId, 'wait=60'))
    await until('the listener', async () => ((await countOf(listening)) > 0 ? true : undefined))
    await sleep(1_500)
    // One for each API of the service.
    expect(await countOf(listening)).toBeLessThanOrEqual(2)
    await service.simulator.release()
    const answers = await Promise.all(waits)
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(bodies).size).toBe(1)
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ status: 'succeeded' })
  })

  it('that leave are forgotten', async () => {
    const taskId = await heldTask('left')
    const leftLookups = () =>
      service
        .logs()
        .split('\n')
        .filter((line) => line.includes('"status":499') && line.includes(taskId)).length
    const sent = Array.from({ length: 20 }, () => {
      const headers = { authorization: client.authorization, prefer: 'wait=60' }
      const one = request(`${client.url}/v1/tasks/${taskId}`, { headers, agent: false }).end()
      one.on('error', () => {})
      return one
    })
    await Promise.all(sent.map((one) => once(one, 'finish')))
    await sleep(500)
    for (const one of sent) one.destroy()
    await expect.poll(leftLookups, { timeout: 15_000 }).toBe(20)
    await service.simulator.release()
    await client.ended(taskId)
  })
})

describe('an API that stops', () => {
  it('answers its waiting lookups at once, as the tasks are [wait-5]', async () => {
    const taskId = await heldTask('stopped')
    const api = await service.startApi()
    onTestFinished(() => api.stop())
    const waiting = waitFor(taskId, 'wait=60', {}, api.url)
    await sleep(500)
    const took = timed(async () => {
      const answer = await waiting
      expect(answer.status).toBe(200)
      expect(answer.headers.get('preference-applied')).toBeNull()
      expect(await answer.json()).toMatchObject({ status: 'processing' })
    })
    api.signal('SIGTERM')
    expect(await took).toBeLessThan(2_000)
    await api.ended
    await service.simulator.release()
    await client.ended(taskId)
  })
})
