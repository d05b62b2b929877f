import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { retryWaitsMs } from '../../src/domain/webhooks/retries.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { runParallel, until } from '../support/timing.ts'
import type { DeliveryJson, WebhookClient } from '../support/webhooks/webhookClient.ts'
import { useWebhookService } from '../support/webhooks/webhookService.ts'

const world = useWebhookService()

/** A client of a new account with one webhook. */
async function newWebhook(): Promise<{ client: WebhookClient; id: string; path: string }> {
  const { client, path, url } = await world.newClient()
  const { webhook_id: id } = await client.register(url)
  return { client, id, path }
}

const runOf = (id: string) =>
  world.service.temporal.temporal.client.workflow.getHandle(`webhook/${id}`)

/** Resolves once the run has started: this happens shortly after the first try has failed. */
const runStarted = (id: string) =>
  until('the run', () =>
    runOf(id)
      .describe()
      .catch(() => undefined),
  )

/** Makes the next try of a delivery due now, as if its wait were over, and wakes the run. */
async function skipWait(id: string, delivery: DeliveryJson): Promise<void> {
  await world.service.pool.query(
    'update webhook_delivery set next_attempt_at = now() where delivery_id = $1',
    [delivery.delivery_id],
  )
  await runOf(id).signal('wake')
}

/** Puts the next try of what is pending off for an hour, so that no repetition comes in between. */
const putOff = (id: string) =>
  world.service.pool.query(
    `update webhook_delivery set next_attempt_at = now() + interval '1 hour' where webhook_id = $1`,
    [id],
  )

/** Resolves once the run plans to look again between these times from now. During a look it plans 50 seconds. */
const runLooksIn = (id: string, from: string, to: string) =>
  until(`a look of the run in ${from} to ${to}`, async () => {
    const { rowCount } = await world.service.pool.query(
      `select from webhook_health where webhook_id = $1
       and run_looks_at between now() + $2::interval and now() + $3::interval`,
      [id, from, to],
    )
    return rowCount === 1 ? true : undefined
  })

function waitMsOf({ next_attempt_at: next, attempts }: DeliveryJson): number {
  return Date.parse(next ?? '') - Date.parse(attempts.at(-1)?.at ?? '')
}

describe('a delivery that fails', () => {
  it('is tried again after each published wait, with the same id, for 75 hours [hook-11]', async () => {
    const { client, id, path } = await newWebhook()
    world.receiver.behave = 503
    await client.accepted(generateBody())
    for (const [tries, plannedMs] of retryWaitsMs.entries()) {
      const tried = ({ attempts }: DeliveryJson) => attempts.length === tries + 1
      const delivery = await client.seen(id, tried)
      expect(delivery.status).toBe('pending')
      expect(delivery.attempts.at(-1)).toEqual({ at: expect.any(String), http_status: 503 })
      expect(waitMsOf(delivery)).toBeGreaterThanOrEqual(plannedMs)
      expect(waitMsOf(delivery)).toBeLessThan(plannedMs * 1.1 + 5_000)
      await runStarted(id)
      await skipWait(id, delivery)
    }
    const {
      attempts,
      status,
      next_attempt_at: next,
    } = await client.seen(id, (each) => each.status === 'failed')
    expect({ attempts: attempts.length, status, next }).toEqual({ attempts: 10, status: 'failed' })
    const received = world.receiver.received.filter((each) => each.path === path)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(received).toHaveLength(10)
    expect(await runOf(id).result()).toBeUndefined()
    const totalMs = retryWaitsMs.reduce((sum, ms) => sum + ms, 0)
    expect(Math.floor(totalMs / 3_600_000)).toBe(75)
  })

  it('is delivered by the run when the receiver heals', async () => {
    const { client, id, path } = await newWebhook()
    world.receiver.behave = 500
    await client.accepted(generateBody())
    await world.receiver.waitFor(1, path)
    world.receiver.behave = 200
    const delivery = await client.seen(id, ({ status }) => status === 'delivered')
    expect(delivery.attempts.map((attempt) => attempt.http_status)).toEqual([500, 200])
    expect(await runOf(id).result()).toBeUndefined()
    const [first, second] = await world.receiver.waitFor(2, path)
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(4_500)
  })

  it('waits as long as Retry-After says, and 24 hours at most [hook-12]', async () => {
    const { client, id } = await newWebhook()
    for (const [seconds, waitSeconds] of [
      ['1', 5],
      ['3600', 3_600],
      ['999999', 86_400],
    ] as const) {
      world.receiver.behave = (_request, response) =>
        response.writeHead(429, { 'retry-after': seconds }).end()
      const { task_id: taskId } = await client.accepted(generateBody())
      const tried = (each: DeliveryJson) => each.task_id === taskId && each.attempts.length === 1
      const delivery = await client.seen(id, tried)
      expect(waitMsOf(delivery) / 1000).toBeGreaterThanOrEqual(waitSeconds)
      expect(waitMsOf(delivery) / 1000).toBeLessThan(waitSeconds * 1.1 + 5)
    }
  })

  it('and has no answer says why', async () => {
    const { client, id } = await newWebhook()
    world.receiver.behave = (request) => request.socket.destroy()
    await client.accepted(generateBody())
    const { attempts } = await client.seen(id, (each) => each.attempts.length === 1)
    expect(attempts).toEqual([{ at: expect.any(String), error: 'connection_failed' }])
  })
})

describe('a receiver that answers 410', () => {
  it('disables the webhook: what is pending fails, and enabling revives nothing [hook-15]', async () => {
    const { client, id, path } = await newWebhook()
    world.receiver.behave = 500
    await client.accepted(generateBody())
    await client.seen(id, ({ attempts }) => attempts.length === 1)
    await putOff(id)
    world.receiver.behave = 410
    await client.accepted(generateBody())
    await until('disabled', async () => {
      const { body } = await client.call<{ status: string }>('GET', `/v1/webhooks/${id}`)
      return body.status === 'disabled' ? true : undefined
    })
    // A statement of its own ends what is pending.
    const deliveries = await until('no pending delivery', async () => {
      const all = await client.deliveries(id)
      return all.some(({ status }) => status === 'pending') ? undefined : all
    })
    expect(deliveries.map(({ status }) => status)).toEqual(['failed', 'failed'])
    expect(deliveries.every((each) => each.next_attempt_at === undefined)).toBe(true)

    world.receiver.behave = 200
    await client.ended((await client.accepted(generateBody())).task_id)
    expect(await client.deliveries(id)).toHaveLength(2)
    for (const rest of ['/test', `/deliveries/${deliveries[0]?.delivery_id}/redeliver`]) {
      const refused = await client.call('POST', `/v1/webhooks/${id}${rest}`)
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'webhook_disabled' } } })
    }

    const enabled = await client.call('POST', `/v1/webhooks/${id}/enable`)
    expect(enabled).toMatchObject({ status: 200, body: { status: 'active' } })
    const { task_id: taskId } = await client.accepted(generateBody())
    await client.seen(id, (each) => each.task_id === taskId && each.status === 'delivered')
    const after = await client.deliveries(id)
    expect(after.map(({ status }) => status)).toEqual(['delivered', 'failed', 'failed'])
    expect(world.receiver.received.filter((each) => each.path === path)).toHaveLength(3)
  })
})

describe('a deleted webhook', () => {
  it('ends what is pending as failed, keeps no address, and receives no further try [hook-5]', async () => {
    const { client, id, path } = await newWebhook()
    world.receiver.behave = 500
    await client.accepted(generateBody())
    await client.seen(id, ({ attempts }) => attempts.length === 1)
    await client.call('DELETE', `/v1/webhooks/${id}`)
    const { rows } = await world.service.pool.query(
      `select d.status, d.next_attempt_at, w.url from webhook_delivery d join webhook w
       using (webhook_id) where webhook_id = $1`,
      [id],
    )
    expect(rows).toEqual([{ status: 'failed', next_attempt_at: null, url: '' }])
    await runStarted(id)
    // The run wakes up after its 5 seconds, finds nothing, and ends.
    expect(await runOf(id).result()).toBeUndefined()
    expect(world.receiver.received.filter((each) => each.path === path)).toHaveLength(1)
  })
})

describe('a receiver that is dead for many ends', () => {
  it('is one run in Temporal, and at most four tries at a time', async () => {
    const { client, id, path } = await newWebhook()
    const { client: other, path: otherPath } = await newWebhook()
    let open = 0
    let openMax = 0
    world.receiver.behave = (request, response) => {
      if (request.url !== path) return response.writeHead(200).end()
      open += 1
      openMax = Math.max(openMax, open)
      setTimeout(() => {
        open -= 1
        response.writeHead(500).end()
      }, 100)
      return undefined
    }
    await runParallel(30, 12, async () => {
      await client.ended((await client.accepted(generateBody())).task_id)
    })
    const askedAtMs = Date.now()
    await other.accepted(generateBody())
    const [delivered] = await world.receiver.waitFor(1, otherPath)
    expect((delivered?.atMs ?? 0) - askedAtMs).toBeLessThan(5_000)
    await until('30 first tries', async () => {
      const tried = (await client.deliveries(id)).filter(({ attempts }) => attempts.length > 0)
      return tried.length === 30 ? true : undefined
    })
    expect(openMax).toBeLessThanOrEqual(4)
    const runs: string[] = []
    const query = `WorkflowId = 'webhook/${id}'`
    await until('the run in the list', async () => {
      runs.length = 0
      for await (const run of world.service.temporal.temporal.client.workflow.list({ query }))
        runs.push(run.runId)
      return runs.length > 0 ? true : undefined
    })
    expect(runs).toHaveLength(1)
    world.receiver.behave = 200
    const allDelivered = async () => {
      const left = (await client.deliveries(id)).filter(({ status }) => status !== 'delivered')
      for (const { delivery_id, next_attempt_at: next } of left) {
        // On a slow machine some have failed twice, and would be tried in five minutes.
        if (Date.parse(next ?? '') > Date.now() + 60_000) {
          await client.call('POST', `/v1/webhooks/${id}/deliveries/${delivery_id}/redeliver`)
        }
      }
      return left.length === 0 ? true : undefined
    }
    await until('everything delivered', allDelivered, 30_000)
  }, 90_000)
})

describe('a due delivery while first tries hold every slot of its webhook', () => {
  it('waits for a slot, and its run does not look again before one can be free', async () => {
    const { client, id, path } = await newWebhook()
    world.receiver.behave = 500
    const { task_id: taskId } = await client.accepted(generateBody())
    const failed = ({ attempts }: DeliveryJson) => attempts.length === 1
    const delivery = await client.seen(id, failed)
    // The run must not look because of the wait of 5 seconds.
    await runLooksIn(id, '0 seconds', '10 seconds')
    await putOff(id)
    await runOf(id).signal('wake')
    await runLooksIn(id, '30 minutes', '2 hours')
    const held: (() => void)[] = []
    world.receiver.behave = (_request, response) => {
      held.push(() => response.writeHead(200).end())
    }
    for (let n = 0; n < 4; n += 1) await client.accepted(generateBody())
    await world.receiver.waitFor(5, path)
    const looks = async () => {
      const { events } = await runOf(id).fetchHistory()
      return events?.filter((each) => each.activityTaskScheduledEventAttributes).length ?? 0
    }
    const looksBefore = await looks()
    await skipWait(id, delivery)
    await until('the look', async () => ((await looks()) > looksBefore ? true : undefined))
    await sleep(2_000)
    // One look after the signal. The next one is when a lease ends.
    expect(await looks()).toBe(looksBefore + 1)
    world.receiver.behave = 200
    for (const answer of held) answer()
    await client.seen(id, (each) => each.task_id !== taskId && each.status === 'delivered')
    await runOf(id).signal('wake')
    await client.seen(id, (each) => each.task_id === taskId && each.status === 'delivered')
  })
})

describe('a run that is lost', () => {
  it('is started again by the reconciler', async () => {
    const { client, id } = await newWebhook()
    world.receiver.behave = 500
    await client.accepted(generateBody())
    const delivery = await client.seen(id, ({ attempts }) => attempts.length === 1)
    // The run writes when it looks again. It must not do so after the change below.
    await runLooksIn(id, '0 seconds', '10 seconds')
    await runOf(id).terminate('lost')
    world.receiver.behave = 200
    // As if its time had come half a minute ago.
    await world.service.pool.query(
      `update webhook_health set run_looks_at = now() - interval '31 seconds' where webhook_id = $1`,
      [id],
    )
    await world.service.pool.query(
      'update webhook_delivery set next_attempt_at = now() where delivery_id = $1',
      [delivery.delivery_id],
    )
    const delivered = await client.seen(id, ({ status }) => status === 'delivered', 30_000)
    expect(delivered.attempts.map((attempt) => attempt.http_status)).toEqual([500, 200])
  })
})
