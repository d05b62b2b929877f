import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { generateBody } from '../support/clients/requestBodies.ts'
import { until } from '../support/timing.ts'
import { eventOf, headersOf } from '../support/webhooks/receiver.ts'
import type { DeliveryJson, WebhookClient } from '../support/webhooks/webhookClient.ts'
import { useWebhookService } from '../support/webhooks/webhookService.ts'

const world = useWebhookService()
const { newClient } = world

type ErrorJson = { readonly error: { readonly code: string; readonly param: string | null } }

describe('a test event', () => {
  it('is signed, names the webhook, and is listed without a task [hook-7]', async () => {
    const { client, path, url } = await newClient()
    const { webhook_id: id, secret } = await client.register(url, ['task.failed'])
    const asked = await client.call<DeliveryJson>('POST', `/v1/webhooks/${id}/test`)
    expect(asked).toMatchObject({ status: 202, body: { event: 'webhook.test', status: 'pending' } })
    const [received] = await world.receiver.waitFor(1, path)
    if (received === undefined) throw new Error('nothing received')
    expect(new Webhook(secret).verify(received.body, headersOf(received))).toEqual({
      type: 'webhook.test',
      timestamp: asked.body.created_at,
      data: { webhook_id: id },
    })
    expect(received.headers['webhook-id']).toBe(asked.body.delivery_id)
    const delivery = await client.seen(id, ({ status }) => status === 'delivered')
    expect(delivery.task_id).toBeUndefined()
  })

  it('keeps the list short: the oldest tests are dropped, and many pending ones are 429', async () => {
    const { client, url } = await newClient()
    world.receiver.behave = 500
    const { webhook_id: id } = await client.register(url)
    const made = []
    for (let n = 0; n < 22; n += 1) {
      made.push((await client.call('POST', `/v1/webhooks/${id}/test`)).status)
    }
    expect(made.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1)
    expect((await client.deliveries(id)).length).toBeLessThanOrEqual(20)
  })
})

describe('deliveries', () => {
  it('are listed newest first, page by page, and refuse an id that is not theirs [hook-16]', async () => {
    const { client, url } = await newClient()
    const { webhook_id: id } = await client.register(url)
    for (let n = 0; n < 5; n += 1) await client.call('POST', `/v1/webhooks/${id}/test`)
    const all = (await client.deliveries(id)).map((each) => each.delivery_id)
    expect(all).toHaveLength(5)
    type Page = { readonly data: readonly DeliveryJson[]; readonly has_more: boolean }
    const pages: string[][] = []
    let after = ''
    for (;;) {
      const path = `/v1/webhooks/${id}/deliveries?limit=2${after}`
      const { body } = await client.call<Page>('GET', path)
      pages.push(body.data.map((each) => each.delivery_id))
      if (!body.has_more) break
      after = `&after=${body.data.at(-1)?.delivery_id}`
    }
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)])
    const other = await newClient()
    const { webhook_id: otherId } = await other.client.register(url)
    for (const wrong of [all[0], 'x', `whd_${'0'.repeat(32)}`]) {
      const path = `/v1/webhooks/${otherId}/deliveries?after=${wrong}`
      const answer = await other.client.call<ErrorJson>('GET', path)
      expect(answer).toMatchObject({ status: 400, body: { error: { param: 'after' } } })
    }
    const unknown = await client.call<ErrorJson>('GET', `/v1/webhooks/${id}/deliveries?status=x`)
    expect(unknown).toMatchObject({ status: 400, body: { error: { param: 'status' } } })
  })

  it('are delivered again on request, with the same id [hook-17]', async () => {
    const { client, path, url } = await newClient()
    const { webhook_id: id } = await client.register(url)
    await client.accepted(generateBody())
    const { delivery_id: deliveryId } = await client.seen(
      id,
      ({ status }) => status === 'delivered',
    )
    const redeliver = `/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`
    expect(await client.call('POST', redeliver)).toMatchObject({
      status: 202,
      body: { delivery_id: deliveryId, status: 'pending' },
    })
    const received = await world.receiver.waitFor(2, path)
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([deliveryId, deliveryId])
    expect(received[1]?.body).toBe(received[0]?.body)
    const again = await client.seen(id, ({ attempts }) => attempts.length === 2)
    expect(again.status).toBe('delivered')
    const missing = await client.call<ErrorJson>('POST', redeliver.replace(/whd_\w/, 'whd_z'))
    expect(missing).toMatchObject({ status: 404, body: { error: { code: 'delivery_not_found' } } })
  })

  it('live as long as the record of their task [hook-18]', async () => {
    const { client, url } = await newClient()
    const { webhook_id: id } = await client.register(url)
    const { task_id: taskId } = await client.accepted(generateBody())
    await client.seen(id, ({ status }) => status === 'delivered')
    await world.service.pool.query('update task set purge_at = now() where task_id = $1', [taskId])
    const left = await until('the purge', async () => {
      const deliveries = await client.deliveries(id)
      return deliveries.length === 0 ? deliveries : undefined
    })
    expect(left).toEqual([])
  })

  it('contain the record as the task ended, also after the image has expired [hook-2]', async () => {
    const { client, path, url } = await newClient()
    const { webhook_id: id } = await client.register(url)
    const { task_id: taskId } = await client.accepted(generateBody())
    const { delivery_id: deliveryId } = await client.seen(
      id,
      ({ status }) => status === 'delivered',
    )
    await world.service.pool.query('update task set expires_at = now() where task_id = $1', [
      taskId,
    ])
    expect((await client.ended(taskId)).status).toBe('expired')
    await client.call('POST', `/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`)
    const [, again] = await world.receiver.waitFor(2, path)
    expect(again && eventOf(again)).toMatchObject({
      type: 'task.succeeded',
      data: { task_id: taskId, status: 'succeeded' },
    })
    expect(again?.body).not.toContain('"result"')
  })
})

describe('an end that no worker records', () => {
  it('is delivered when the API cancels the task [hook-10]', async () => {
    const { client, path, url } = await newClient()
    await client.register(url)
    const { task_id: taskId } = await cancelledTask(client)
    const [received] = await world.receiver.waitFor(1, path)
    expect(received && eventOf(received)).toMatchObject({
      type: 'task.failed',
      data: { task_id: taskId, error: { code: 'cancelled' } },
    })
  })
})

/** Submits tasks until one can be cancelled before its call. */
async function cancelledTask(client: WebhookClient): Promise<{ task_id: string }> {
  await world.service.pool.query(`update channel set paused_at = now(), pause_reason = 'test'`)
  try {
    const submitted = await client.accepted(generateBody())
    const cancelled = await client.call('POST', `/v1/tasks/${submitted.task_id}/cancel`)
    expect(cancelled.status).toBe(200)
    return submitted
  } finally {
    await world.service.pool.query('update channel set paused_at = null, pause_reason = null')
  }
}
