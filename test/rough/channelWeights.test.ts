import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { startTestService } from '../support/service/testService.ts'

// Family B has two channels that work. Family A has one that works and one whose server is gone.
const weightOf = { 'b-heavy': 3, 'b-light': 1 }

const gone = `http://127.0.0.1:${await closedPort()}`
const service = await startTestService({
  operatorFile: (url) => ({
    channels: [
      ...Object.entries(weightOf).map(([name, weight]) => ({
        name,
        family: 'B',
        baseUrl: `${url}/v1`,
        apiKeyEnv: 'FAMILYB_API_KEY',
        weight,
      })),
      { name: 'a-works', family: 'A', baseUrl: url, apiKeyEnv: 'FAMILYA_API_KEY', weight: 1 },
      { name: 'a-gone', family: 'A', baseUrl: gone, apiKeyEnv: 'FAMILYA_API_KEY', weight: 1 },
    ],
  }),
  simulator: { latency: 0 },
})
const client = createClient(service.url, (await service.account()).secret)
afterAll(() => service.stop())

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('No port')
  return address.port
}

async function attempts(channels: string) {
  const { rows } = await service.pool.query<{
    taskId: string
    channel: string
    class: string
    openedAtMs: number
    closedAtMs: number
  }>(
    `select task_id as "taskId", channel, class,
       (extract(epoch from opened_at) * 1000)::float8 as "openedAtMs",
       (extract(epoch from closed_at) * 1000)::float8 as "closedAtMs"
     from attempt where channel like $1 order by opened_at`,
    [channels],
  )
  return rows
}

describe('channels with weights', () => {
  it('share the calls, of asynchronous and of synchronous tasks', async () => {
    const model = 'familyb-image-2-vip'
    const accepted = await Promise.all(
      Array.from({ length: 20 }, (_none, at) =>
        client.accepted(generateBody({ model, prompt: `Shared ${at}` })),
      ),
    )
    await Promise.all(accepted.map(({ task_id }) => client.ended(task_id)))
    for (let count = 0; count < 10; count += 1) {
      const answer = await generate(client, { prompt: `Shared too ${count}` })
      expect([answer.status, (await answer.arrayBuffer()).byteLength > 0]).toEqual([200, true])
    }
    const calls = await attempts('b-%')
    expect(calls).toHaveLength(30)
    expect(new Set(calls.map(({ channel }) => channel))).toEqual(new Set(Object.keys(weightOf)))
  })

  it('cost at most one call per cooldown when one is dead, and no call is paid for to probe it', async () => {
    const model = 'familya-3-pro-image'
    const startedAtMs = Date.now()
    let tasks = 0
    // Until the dead channel was tried again after its second cooldown, which lasts two seconds.
    while ((await attempts('a-gone')).length < 3 && Date.now() - startedAtMs < 40_000) {
      const prompt = `Past a dead channel ${tasks}`
      const { task_id } = await client.accepted(generateBody({ model, prompt }))
      expect(await client.ended(task_id)).toMatchObject({ status: 'succeeded' })
      tasks += 1
      await sleep(200)
    }
    const dead = await attempts('a-gone')
    expect(dead.map((attempt) => attempt.class)).toEqual(dead.map(() => 'refused'))
    // The cooldown is a second, and doubles with each refusal in a row.
    expect(dead).toHaveLength(3)
    for (const [at, { openedAtMs }] of dead.slice(1).entries()) {
      const earlier = dead[at]?.closedAtMs ?? 0
      expect(openedAtMs - earlier).toBeGreaterThanOrEqual(1_000 * 2 ** at - 50)
    }
    const billed = (await service.simulator.calls({ family: 'A' })).filter((call) => call.billed)
    expect(billed).toHaveLength(tasks)
  })
})
