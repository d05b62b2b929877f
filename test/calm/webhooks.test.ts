import OpenAI from 'openai'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { taskRecordResponse } from '../support/clients/responses.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { eventOf, headersOf } from '../support/webhooks/receiver.ts'
import { useWebhooks } from '../support/webhooks/useWebhooks.ts'

const world = useWebhooks()

type ErrorJson = { readonly error: { readonly code: string; readonly param: string | null } }

describe.concurrent('a webhook', () => {
  it('receives the end of a task, signed, with the record as the task ended [hook-1, hook-2, hook-3]', async () => {
    const hook = await world.newHook()
    const { client, url } = hook
    const webhook = await client.register(url)
    expect(webhook).toEqual({
      webhook_id: expect.stringMatching(/^wh_[0-9A-Za-z]{24}$/),
      url,
      events: ['task.succeeded', 'task.failed'],
      status: 'active',
      created_at: expect.any(String),
      secret: expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/),
    })
    const { task_id: taskId } = await client.accepted(generateBody())
    const { result: _left, ...record } = await client.ended(taskId)
    const [received] = await hook.waitFor(1)
    if (received === undefined) throw new Error('nothing received')
    expect(received.method).toBe('POST')
    expect(received.headers['content-type']).toBe('application/json')
    const event = eventOf(received)
    expect(event).toEqual({
      type: 'task.succeeded',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: record,
    })
    taskRecordResponse.parse(event.data)
    expect(Math.floor(Date.parse(event.timestamp) / 1000)).toBe(
      Date.parse(record.completed_at ?? '') / 1000,
    )
    const headers = headersOf(received)
    expect(new Webhook(webhook.secret).verify(received.body, headers)).toEqual(event)
    const openai = new OpenAI({ apiKey: 'unused' })
    const { secret } = webhook
    expect(await openai.webhooks.unwrap(received.body, headers, secret)).toEqual(event)
    const forged = received.body.replace('succeeded', 'succeeded ')
    await expect(openai.webhooks.unwrap(forged, headers, secret)).rejects.toThrow('signature')
    const delivery = await client.seen(webhook.webhook_id, ({ status }) => status === 'delivered')
    expect(delivery).toEqual({
      delivery_id: headers['webhook-id'],
      webhook_id: webhook.webhook_id,
      event: 'task.succeeded',
      task_id: taskId,
      status: 'delivered',
      created_at: expect.any(String),
      attempts: [{ at: expect.any(String), http_status: 200 }],
    })
  })

  it.each([
    [{ url: 'https://169.254.169.254/' }, 'invalid_value', 'url'],
    [{ url: 'https://user:password@example.com/' }, 'invalid_value', 'url'],
    [{}, 'missing_required_parameter', 'url'],
    [{ url: 'https://example.com/', events: [] }, 'invalid_value', 'events'],
    [{ url: 'https://example.com/', events: ['task.queued'] }, 'invalid_value', 'events[0]'],
    [{ url: 'https://example.com/', secret: 'mine' }, 'unknown_parameter', 'secret'],
  ])('is refused with the field that is wrong: %j', async (given, code, param) => {
    const { client } = await world.newHook()
    const answer = await client.call('POST', '/v1/webhooks', given)
    expect(answer).toMatchObject({ status: 400, body: { error: { code, param } } })
  })
})

describe.concurrent('the webhooks of an account', () => {
  it('are listed newest first, page by page, and read without their secret [hook-3, hook-4]', async () => {
    const { client, url } = await world.newHook()
    const stranger = await world.newHook()
    const { webhook_id: foreign } = await stranger.client.register(stranger.url)
    const made = []
    for (const events of [['task.succeeded'], ['task.failed'], undefined]) {
      const { secret: _shown, ...webhook } = await client.register(url, events)
      made.unshift(webhook)
    }
    const [newest, middle, oldest] = made
    expect(await client.call('GET', '/v1/webhooks')).toEqual({
      status: 200,
      body: { object: 'list', data: made, has_more: false },
    })
    const one = await client.call('GET', `/v1/webhooks/${middle?.webhook_id}`)
    expect(one).toEqual({ status: 200, body: middle })
    expect(middle?.events).toEqual(['task.failed'])
    for (const [query, data, has_more] of [
      ['limit=2', [newest, middle], true],
      [`limit=2&after=${middle?.webhook_id}`, [oldest], false],
      [`limit=1&after=${newest?.webhook_id}`, [middle], true],
      [`after=${oldest?.webhook_id}`, [], false],
    ] as const) {
      const { body } = await client.call('GET', `/v1/webhooks?${query}`)
      expect([query, body]).toEqual([query, { object: 'list', data, has_more }])
    }
    for (const [query, param] of [
      [`after=${foreign}`, 'after'],
      ['after=anything', 'after'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['page=2', 'page'],
    ]) {
      const answer = await client.call('GET', `/v1/webhooks?${query}`)
      expect(answer).toMatchObject({ status: 400, body: { error: { param } } })
    }
  })

  it('are at most five [hook-8]', async () => {
    const { client, url } = await world.newHook()
    const made = await Promise.all(
      Array.from({ length: 8 }, () => client.call<ErrorJson>('POST', '/v1/webhooks', { url })),
    )
    const refused = made.filter(({ status }) => status !== 201)
    expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(
      Array.from({ length: 3 }, () => [409, 'too_many_webhooks']),
    )
  })

  it('are the same 404 for another account as an unknown id [ext-3, hook-4]', async () => {
    const { client, url } = await world.newHook()
    const { client: stranger } = await world.newHook()
    const { webhook_id: id } = await client.register(url)
    const ids = [id, `wh_${'0'.repeat(24)}`]
    const calls = [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
      ['POST', '/test'],
      ['POST', '/enable'],
      ['GET', '/deliveries'],
      ['POST', `/deliveries/whd_${'0'.repeat(32)}/redeliver`],
    ] as const
    for (const [method, rest] of calls) {
      for (const each of ids) {
        const answer = await stranger.call<ErrorJson>(method, `/v1/webhooks/${each}${rest}`)
        expect([method, rest, each, answer.status]).toEqual([method, rest, each, 404])
        expect(answer.body.error.code).toBe('webhook_not_found')
      }
    }
    expect((await client.call('GET', `/v1/webhooks/${id}`)).status).toBe(200)
  })

  it('are gone after their deletion, with their address, and receive nothing more [hook-5]', async () => {
    const hook = await world.newHook()
    const { client } = hook
    const { webhook_id: id } = await client.register(hook.url)
    const deleted = await client.call('DELETE', `/v1/webhooks/${id}`)
    expect(deleted).toEqual({ status: 200, body: { webhook_id: id, deleted: true } })
    expect((await client.call('GET', `/v1/webhooks/${id}`)).status).toBe(404)
    expect((await client.call('DELETE', `/v1/webhooks/${id}`)).status).toBe(404)
    const kept = 'select url from webhook where webhook_id = $1'
    const { rows } = await world.service.pool.query(kept, [id])
    // The reconciler may have deleted the row already.
    expect(rows.filter(({ url }) => url !== '')).toEqual([])
    await client.ended((await client.accepted(generateBody())).task_id)
    // The test event of another webhook comes later than a delivery of this one would.
    const other = await world.newHook()
    const { webhook_id: otherId } = await other.client.register(other.url)
    await other.client.call('POST', `/v1/webhooks/${otherId}/test`)
    await other.waitFor(1)
    expect(hook.received()).toEqual([])
  })
})

describe.concurrent('a rotation', () => {
  it('signs with the new and the former secret for 24 hours, and then with the new one alone [hook-6]', async () => {
    const hook = await world.newHook()
    const { client } = hook
    const { webhook_id: id, secret: former } = await client.register(hook.url)
    const rotated = await client.call<{ secret: string }>('POST', `/v1/webhooks/${id}/rotate`)
    const { secret } = rotated.body
    expect(rotated.status).toBe(200)
    expect(secret).not.toBe(former)
    await client.call('POST', `/v1/webhooks/${id}/test`)
    const [both] = await hook.waitFor(1)
    if (both === undefined) throw new Error('nothing received')
    expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2)
    for (const each of [secret, former]) new Webhook(each).verify(both.body, headersOf(both))
    const { rows } = await world.service.pool.query<{ hours: number }>(
      `update webhook set previous_until = now() where webhook_id = $1
       returning (select extract(epoch from previous_until - now()) / 3600 from webhook
         where webhook_id = $1)::float8 as hours`,
      [id],
    )
    expect(rows[0]?.hours).toBeCloseTo(24, 1)
    await client.call('POST', `/v1/webhooks/${id}/test`)
    const [, one] = await hook.waitFor(2)
    if (one === undefined) throw new Error('nothing received')
    expect(String(one.headers['webhook-signature']).split(' ')).toHaveLength(1)
    new Webhook(secret).verify(one.body, headersOf(one))
    expect(() => new Webhook(former).verify(one.body, headersOf(one))).toThrow('signature')
  })
})
