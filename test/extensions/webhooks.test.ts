import OpenAI from 'openai'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { taskRecordResponse } from '../support/clients/responses.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { Received, Receiver } from '../support/webhooks/receiver.ts'
import { startReceiver } from '../support/webhooks/receiver.ts'
import type { WebhookClient } from '../support/webhooks/webhookClient.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  service = await startTestService({ environment: { PUBLIC_URL: 'https://images.example.test' } })
  receiver = await startReceiver()
  return async () => {
    await receiver.close()
    await service.stop()
  }
}, stackStartMsMax)
afterEach(() => {
  receiver.behave = 200
})

let accounts = 0
/** A client of a new account, and an address of its own at the receiver. */
async function newClient(): Promise<{ client: WebhookClient; path: string; url: string }> {
  accounts += 1
  const path = `/hooks/${accounts}`
  const client = createWebhookClient({ url: service.url }, await service.account())
  return { client, path, url: `${receiver.url}${path}` }
}

type Event = { readonly type: string; readonly timestamp: string; readonly data: unknown }

function eventOf({ body }: Received): Event {
  const event: Event = JSON.parse(body)
  return event
}

function headersOf({ headers }: Received): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

const rejectedPrompt = '[sim:status=400] a lighthouse'

describe('a webhook', () => {
  it('receives the end of a task, signed, with the record as the task ended', async () => {
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
    const [received] = await receiver.waitFor(1, path)
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

  it('is accepted by the webhooks of the openai package', async () => {
    const { client, path, url } = await newClient()
    const { secret } = await client.register(url)
    await client.accepted(generateBody())
    const [received] = await receiver.waitFor(1, path)
    if (received === undefined) throw new Error('nothing received')
    const openai = new OpenAI({ apiKey: 'unused' })
    const headers = headersOf(received)
    const event: unknown = await openai.webhooks.unwrap(received.body, headers, secret)
    expect(event).toEqual(eventOf(received))
    const forged = received.body.replace('succeeded', 'succeeded ')
    await expect(openai.webhooks.unwrap(forged, headers, secret)).rejects.toThrow('signature')
  })

  it('receives a failed task with its error', async () => {
    const { client, path, url } = await newClient()
    await client.register(url)
    const { task_id: taskId } = await client.accepted(generateBody({ prompt: rejectedPrompt }))
    const record = await client.ended(taskId)
    const [received] = await receiver.waitFor(1, path)
    expect(received && eventOf(received)).toMatchObject({ type: 'task.failed', data: record })
    expect(record.error?.code).toBe('upstream_invalid_request')
  })
})
