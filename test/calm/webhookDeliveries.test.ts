import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { generateBody } from '../support/clients/requestBodies.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import { until } from '../support/timing.ts'
import { eventOf, headersOf } from '../support/webhooks/receiver.ts'
import type { DeliveryJson } from '../support/webhooks/webhookClient.ts'
import { useWebhooks } from '../support/webhooks/useWebhooks.ts'

const world = useWebhooks()

const isDelivered = ({ status }: DeliveryJson) => status === 'delivered'

describe.concurrent('a test event', () => {
  it('is signed, names the webhook, and is listed without a task [hook-7]', async () => {
    const hook = await world.newHook()
    const { client } = hook
    const { webhook_id: id, secret } = await client.register(hook.url, ['task.failed'])
    const asked = await client.call<DeliveryJson>('POST', `/v1/webhooks/${id}/test`)
    expect(asked).toMatchObject({ status: 202, body: { event: 'webhook.test', status: 'pending' } })
    const [received] = await hook.waitFor(1)
    if (received === undefined) throw new Error('nothing received')
    expect(new Webhook(secret).verify(received.body, headersOf(received))).toEqual({
      type: 'webhook.test',
      timestamp: asked.body.created_at,
      data: { webhook_id: id },
    })
    expect(received.headers['webhook-id']).toBe(asked.body.delivery_id)
    const delivery = await client.seen(id, isDelivered)
    expect(delivery.task_id).toBeUndefined()
  })

  it('is 429 when many are pending', async () => {
    const hook = await world.newHook()
    hook.behave = 500
    const { webhook_id: id } = await hook.client.register(hook.url)
    const made = []
    for (let n = 0; n < 22; n += 1) {
      made.push((await hook.client.call('POST', `/v1/webhooks/${id}/test`)).status)
    }
    expect(made.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1)
  })
})

describe.concurrent('an event of money', () => {
  it('arrives signed with its own data, where it is named, and is listed without a task [hook-25, hook-26, hook-27]', async () => {
    const hook = await world.newHook()
    const { client, account } = hook
    const cli = (...args: string[]) => darkroomJson(args, world.service.environment)
    const events = ['account.balance_low', 'key.budget_reached']
    const { webhook_id: id, secret } = await client.register(hook.url, events)
    await cli('account', 'alert', account.name, '--below', '1000000')
    await cli('key', 'budget', account.keyId, '10/day')
    const low = generateBody({ quality: 'low' })
    await client.accepted(low)
    await hook.waitFor(1)
    expect((await client.submit(low)).status).toBe(403)
    const received = await hook.waitFor(2)
    const [first, second] = received.map((each) =>
      new Webhook(secret).verify(each.body, headersOf(each)),
    )
    const timestamp = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(first).toEqual({
      type: 'account.balance_low',
      timestamp,
      data: { available: 999_994, threshold: 1_000_000 },
    })
    expect(second).toEqual({
      type: 'key.budget_reached',
      timestamp,
      data: { key_id: account.keyId, budget: '10/day', used: 6, percent: 100 },
    })
    await client.seen(id, ({ event, status }) => event === events[1] && status === 'delivered')
    const listed = await client.deliveries(id)
    expect(listed.map(({ event, task_id }) => [event, task_id])).toEqual([
      ['key.budget_reached', undefined],
      ['account.balance_low', undefined],
    ])
  })
})

describe.concurrent('deliveries', () => {
  it('are listed newest first, page by page, and refuse an id that is not theirs [hook-16]', async () => {
    const { client, url } = await world.newHook()
    const { webhook_id: id } = await client.register(url)
    for (let n = 0; n < 5; n += 1) await client.call('POST', `/v1/webhooks/${id}/test`)
    const all = (await client.deliveries(id)).map((each) => each.delivery_id)
    expect(all).toHaveLength(5)
    type Page = { readonly data: readonly DeliveryJson[]; readonly has_more: boolean }
    const pages: string[][] = []
    for (let after = ''; ;) {
      const path = `/v1/webhooks/${id}/deliveries?limit=2${after}`
      const { body } = await client.call<Page>('GET', path)
      pages.push(body.data.map((each) => each.delivery_id))
      if (!body.has_more) break
      after = `&after=${body.data.at(-1)?.delivery_id}`
    }
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)])
    const { client: other } = await world.newHook()
    const { webhook_id: otherId } = await other.register(url)
    for (const [query, param] of [
      [`after=${all[0]}`, 'after'],
      ['after=x', 'after'],
      [`after=whd_${'0'.repeat(32)}`, 'after'],
      ['status=x', 'status'],
    ]) {
      const answer = await other.call('GET', `/v1/webhooks/${otherId}/deliveries?${query}`)
      expect(answer).toMatchObject({ status: 400, body: { error: { param } } })
    }
  })

  it('are delivered again on request, with the same id and the record as the task ended, also after the image has expired [hook-2, hook-17]', async () => {
    const hook = await world.newHook()
    const { client } = hook
    const { webhook_id: id } = await client.register(hook.url)
    const { task_id: taskId } = await client.accepted(generateBody())
    const { delivery_id: deliveryId } = await client.seen(id, isDelivered)
    const redeliver = `/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`
    expect(await client.call('POST', redeliver)).toMatchObject({
      status: 202,
      body: { delivery_id: deliveryId, status: 'pending' },
    })
    await hook.waitFor(2)
    const again = await client.seen(id, ({ attempts }) => attempts.length === 2)
    expect(again.status).toBe('delivered')
    await world.service.pool.query('update task set expires_at = now() where task_id = $1', [
      taskId,
    ])
    expect((await client.ended(taskId)).status).toBe('expired')
    await client.call('POST', redeliver)
    const received = await hook.waitFor(3)
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([deliveryId]),
    )
    const [first, second, third] = received.map((each) => each.body)
    expect(second).toBe(first)
    expect(received[2] && eventOf(received[2])).toMatchObject({
      type: 'task.succeeded',
      data: { task_id: taskId, status: 'succeeded' },
    })
    expect(third).not.toContain('"result"')
    const { webhook_id: otherId } = await client.register(hook.url)
    const wrong = [
      redeliver.replace(/whd_\w+/, `whd_${'0'.repeat(32)}`),
      redeliver.replace(id, otherId),
    ]
    for (const path of wrong) {
      const missing = await client.call('POST', path)
      expect(missing).toMatchObject({
        status: 404,
        body: { error: { code: 'delivery_not_found' } },
      })
    }
  })

  it('live as long as the record of their task [hook-18]', async () => {
    const { client, url } = await world.newHook()
    const { webhook_id: id } = await client.register(url)
    const { task_id: taskId } = await client.accepted(generateBody())
    await client.seen(id, isDelivered)
    await world.service.pool.query('update task set purge_at = now() where task_id = $1', [taskId])
    await until('no delivery', async () =>
      (await client.deliveries(id)).length === 0 ? true : undefined,
    )
    expect(await client.deliveries(id)).toEqual([])
  })
})
