import OpenAI from 'openai'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { taskRecordResponse } from '../support/clients/responses.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { eventOf, headersOf } from '../support/webhooks/receiver.ts'
import { useWebhookService } from '../support/webhooks/webhookService.ts'

const world = useWebhookService()
const { newClient } = world

const rejectedPrompt = '[sim:status=400] a lighthouse'

describe('a webhook', () => {
  it('receives the end of a task, signed, with the record as the task ended [hook-1, hook-2, hook-3]', async () => {
    const { client, path, url } = await newClient()
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
    const record = await client.ended(taskId)
    const [received] = await world.receiver.waitFor(1, path)
    if (received === undefined) throw new Error('nothing received')
    expect(received.method).toBe('POST')
    expect(received.headers['content-type']).toBe('application/json')
    const { result: _left, ...asEnded } = record
    const event = eventOf(received)
    expect(event).toEqual({
      type: 'task.succeeded',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: asEnded,
    })
    taskRecordResponse.parse(event.data)
    expect(Math.floor(Date.parse(event.timestamp) / 1000)).toBe(
      Date.parse(record.completed_at ?? '') / 1000,
    )
    const headers = headersOf(received)
    expect(new Webhook(webhook.secret).verify(received.body, headers)).toEqual(event)
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

  it('is accepted by the webhooks of the openai package [hook-1]', async () => {
    const { client, path, url } = await newClient()
    const { secret } = await client.register(url)
    await client.accepted(generateBody())
    const [received] = await world.receiver.waitFor(1, path)
    if (received === undefined) throw new Error('nothing received')
    const openai = new OpenAI({ apiKey: 'unused' })
    const headers = headersOf(received)
    const event: unknown = await openai.webhooks.unwrap(received.body, headers, secret)
    expect(event).toEqual(eventOf(received))
    const forged = received.body.replace('succeeded', 'succeeded ')
    await expect(openai.webhooks.unwrap(forged, headers, secret)).rejects.toThrow('signature')
  })

  it('receives a failed task with its error [hook-9]', async () => {
    const { client, path, url } = await newClient()
    await client.register(url)
    const { task_id: taskId } = await client.accepted(generateBody({ prompt: rejectedPrompt }))
    const record = await client.ended(taskId)
    const [received] = await world.receiver.waitFor(1, path)
    expect(received && eventOf(received)).toMatchObject({ type: 'task.failed', data: record })
    expect(record.error?.code).toBe('upstream_invalid_request')
  })
})

type ErrorJson = { readonly error: { readonly code: string; readonly param: string | null } }

describe('the address of a new webhook', () => {
  it.each([
    [{ url: 'https://169.254.169.254/' }, 'invalid_value', 'url'],
    [{ url: 'http://[::ffff:169.254.169.254]/' }, 'invalid_value', 'url'],
    [{ url: 'ftp://example.com/' }, 'invalid_value', 'url'],
    [{ url: 'https://user:password@example.com/' }, 'invalid_value', 'url'],
    [{ url: 7 }, 'invalid_value', 'url'],
    [{}, 'missing_required_parameter', 'url'],
    [{ url: 'https://example.com/', events: [] }, 'invalid_value', 'events'],
    [{ url: 'https://example.com/', events: ['task.queued'] }, 'invalid_value', 'events[0]'],
    [{ url: 'https://example.com/', secret: 'mine' }, 'unknown_parameter', 'secret'],
  ])('is refused with its fields: %j', async (given, code, param) => {
    const { client } = await newClient()
    const answer = await client.call<ErrorJson>('POST', '/v1/webhooks', given)
    expect(answer).toMatchObject({ status: 400, body: { error: { code, param } } })
  })
})

describe('the webhooks of an account', () => {
  it('are listed newest first and read without their secret [hook-3, hook-4]', async () => {
    const { client, url } = await newClient()
    const first = await client.register(`${url}/1`)
    const second = await client.register(`${url}/2`, ['task.failed'])
    const listed = await client.call('GET', '/v1/webhooks')
    const { secret: _a, ...one } = first
    const { secret: _b, ...two } = second
    expect(listed).toEqual({
      status: 200,
      body: { object: 'list', data: [two, one], has_more: false },
    })
    expect(await client.call('GET', `/v1/webhooks/${one.webhook_id}`)).toEqual({
      status: 200,
      body: one,
    })
    expect(two.events).toEqual(['task.failed'])
  })

  it('are listed in pages, and an unknown end of a page is refused [hook-4]', async () => {
    const { client, url } = await newClient()
    const { client: stranger, url: strangerUrl } = await newClient()
    const { webhook_id: foreign } = await stranger.register(strangerUrl)
    const made: string[] = []
    for (let n = 0; n < 3; n += 1) made.unshift((await client.register(`${url}/${n}`)).webhook_id)
    type Page = { readonly data: readonly { webhook_id: string }[]; readonly has_more: boolean }
    const page = async (query: string) => {
      const { body } = await client.call<Page>('GET', `/v1/webhooks${query}`)
      return [...body.data.map((each) => each.webhook_id), body.has_more]
    }
    expect(await page('?limit=2')).toEqual([made[0], made[1], true])
    expect(await page(`?limit=2&after=${made[1]}`)).toEqual([made[2], false])
    expect(await page(`?limit=1&after=${made[0]}`)).toEqual([made[1], true])
    expect(await page(`?after=${made[2]}`)).toEqual([false])
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
    const { client, url } = await newClient()
    const made = await Promise.all(
      Array.from({ length: 8 }, () => client.call<ErrorJson>('POST', '/v1/webhooks', { url })),
    )
    expect(made.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(made.filter(({ status }) => status === 409)).toHaveLength(3)
    const refused = made.find(({ status }) => status === 409)
    expect(refused?.body.error.code).toBe('too_many_webhooks')
  })

  it('are the same 404 for another account as an unknown or malformed id [ext-3, hook-4]', async () => {
    const { client, url } = await newClient()
    const { client: stranger } = await newClient()
    const { webhook_id: id } = await client.register(url)
    const ids = [id, `wh_${'0'.repeat(24)}`, 'anything', 'wh_%00']
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

  it('are gone after their deletion, and receive nothing more [hook-5]', async () => {
    const { client, url, path } = await newClient()
    const { webhook_id: id } = await client.register(url)
    const deleted = await client.call('DELETE', `/v1/webhooks/${id}`)
    expect(deleted).toEqual({ status: 200, body: { webhook_id: id, deleted: true } })
    expect((await client.call('GET', `/v1/webhooks/${id}`)).status).toBe(404)
    expect((await client.call('DELETE', `/v1/webhooks/${id}`)).status).toBe(404)
    await client.ended((await client.accepted(generateBody())).task_id)
    // The test event of another webhook comes later than a delivery of this one would.
    const other = await newClient()
    const { webhook_id: otherId } = await other.client.register(other.url)
    await other.client.call('POST', `/v1/webhooks/${otherId}/test`)
    await world.receiver.waitFor(1, other.path)
    expect(world.receiver.received.filter((each) => each.path === path)).toEqual([])
  })
})

describe('a rotation', () => {
  it('signs with the new and the former secret for 24 hours, and then with the new one alone [hook-6]', async () => {
    const { client, path, url } = await newClient()
    const { webhook_id: id, secret: former } = await client.register(url)
    const rotated = await client.call<{ secret: string }>('POST', `/v1/webhooks/${id}/rotate`)
    const { secret } = rotated.body
    expect(rotated.status).toBe(200)
    expect(secret).not.toBe(former)
    await client.call('POST', `/v1/webhooks/${id}/test`)
    const [both] = await world.receiver.waitFor(1, path)
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
    const [, one] = await world.receiver.waitFor(2, path)
    if (one === undefined) throw new Error('nothing received')
    expect(String(one.headers['webhook-signature']).split(' ')).toHaveLength(1)
    new Webhook(secret).verify(one.body, headersOf(one))
    expect(() => new Webhook(former).verify(one.body, headersOf(one))).toThrow('signature')
  })
})
