import { describe, expect, it } from 'vitest'
import { retryWaitsMs } from '../../src/domain/webhooks/retries.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { until } from '../support/timing.ts'
import type { DeliveryJson } from '../support/webhooks/webhookClient.ts'
import { useWebhooks } from '../support/webhooks/useWebhooks.ts'

const world = useWebhooks()

/** A hook whose receiver fails, and its webhook. */
async function failingWebhook() {
  const hook = await world.newHook()
  hook.behave = 500
  const { webhook_id: id } = await hook.client.register(hook.url)
  return { hook, client: hook.client, id }
}

/** Sets when what is pending is tried next, counted from now. */
const setNextTry = (id: string, after: string) =>
  world.service.pool.query(
    `update webhook_delivery set next_attempt_at = now() + $2::interval
     where webhook_id = $1 and status = 'pending'`,
    [id, after],
  )

const triedOnce = ({ attempts }: DeliveryJson) => attempts.length === 1

function waitMsOf({ next_attempt_at: next, attempts }: DeliveryJson): number {
  return Date.parse(next ?? '') - Date.parse(attempts.at(-1)?.at ?? '')
}

describe.concurrent('a delivery that fails', () => {
  it('is tried again after each published wait, with the same id, for 75 hours [hook-11]', async () => {
    const { hook, client, id } = await failingWebhook()
    hook.behave = 503
    await client.accepted(generateBody())
    for (const [tries, plannedMs] of retryWaitsMs.entries()) {
      const delivery = await client.seen(id, ({ attempts }) => attempts.length === tries + 1)
      expect(delivery.status).toBe('pending')
      expect(delivery.attempts.at(-1)).toEqual({ at: expect.any(String), http_status: 503 })
      expect(waitMsOf(delivery)).toBeGreaterThanOrEqual(plannedMs)
      expect(waitMsOf(delivery)).toBeLessThan(plannedMs * 1.1 + 5_000)
      await setNextTry(id, '0 seconds')
    }
    const failed = await client.seen(id, ({ status }) => status === 'failed')
    expect([failed.attempts.length, failed.next_attempt_at]).toEqual([10, undefined])
    const ids = hook.received().map(({ headers }) => headers['webhook-id'])
    expect([ids.length, new Set(ids).size]).toEqual([10, 1])
    const totalMs = retryWaitsMs.reduce((sum, ms) => sum + ms, 0)
    expect(Math.floor(totalMs / 3_600_000)).toBe(75)
  })

  it('waits as long as Retry-After says, and 24 hours at most [hook-12]', async () => {
    const { hook, client, id } = await failingWebhook()
    for (const [seconds, waitSeconds] of [
      ['1', 5],
      ['3600', 3_600],
      ['999999', 86_400],
    ] as const) {
      hook.behave = (_request, response) =>
        response.writeHead(429, { 'retry-after': seconds }).end()
      const { task_id: taskId } = await client.accepted(generateBody())
      const delivery = await client.seen(id, (each) => each.task_id === taskId && triedOnce(each))
      expect(waitMsOf(delivery) / 1000).toBeGreaterThanOrEqual(waitSeconds)
      expect(waitMsOf(delivery) / 1000).toBeLessThan(waitSeconds * 1.1 + 5)
    }
  })
})

describe.concurrent('a receiver that answers 410', () => {
  it('disables the webhook: what is pending fails, and enabling revives nothing [hook-15]', async () => {
    const { hook, client, id } = await failingWebhook()
    await client.accepted(generateBody())
    await client.seen(id, triedOnce)
    await setNextTry(id, '1 hour')
    hook.behave = 410
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

    hook.behave = 200
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
    expect(hook.received()).toHaveLength(3)
  })
})
