import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { generateBody } from '../support/clients/requestBodies.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { databaseBeside, tablesHolding } from '../support/telemetry/databaseSearch.ts'
import { until } from '../support/timing.ts'
import type { Receiver } from '../support/webhooks/receiver.ts'
import { startReceiver } from '../support/webhooks/receiver.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

const canary = {
  address: `address${randomBytes(12).toString('hex')}`,
  prompt: `prompt${randomBytes(12).toString('hex')}`,
  key: `key${randomBytes(12).toString('hex')}`,
  answer: `answer${randomBytes(12).toString('hex')}`,
}

let service: TestService
let receiver: Receiver
beforeAll(async () => {
  service = await startTestService({
    environment: {
      LOG_LEVEL: 'trace',
      PUBLIC_URL: 'https://images.example.test',
      WEBHOOK_KEYS: `new:${canary.key},old:0123456789abcdef`,
    },
  })
  receiver = await startReceiver()
  return async () => {
    await receiver.close()
    await service.stop()
  }
}, stackStartMsMax)

describe('the secret and the address of a webhook, and the texts of a delivery', () => {
  it('are in no history, log, metric or error, and the secret in no table [hook-23]', async () => {
    const client = createWebhookClient({ url: service.url }, await service.account())
    const webhook = await client.register(`${receiver.url}/${canary.address}`)
    const { webhook_id: id, secret } = webhook
    receiver.behave = (_request, response) =>
      response.writeHead(500, { 'x-canary': canary.answer }).end(canary.answer)
    await client.accepted(generateBody({ prompt: canary.prompt }))
    await client.seen(id, ({ attempts }) => attempts.length === 2, 30_000)
    const unreachable = await client.register(`http://127.0.0.1:9/${canary.address}`)
    await client.call('POST', `/v1/webhooks/${unreachable.webhook_id}/test`)
    await client.seen(unreachable.webhook_id, ({ attempts }) => attempts.length === 1)

    const run = service.temporal.temporal.client.workflow.getHandle(`webhook/${id}`)
    const history = historyToJSON(await until('the run', () => run.fetchHistory()))
    expect(history).toContain(id)
    const metrics = await (await fetch(`${service.workers[0]?.url}/metrics`)).text()
    expect(metrics).toContain('darkroom_webhook_tries_total{outcome="retry"}')
    const output = [...service.apis, ...service.workers].map((each) => each.output()).join('\n')
    expect(output).toContain('webhook try')
    const rawSecret = secret.replace('whsec_', '')
    for (const text of [...Object.values(canary), rawSecret]) {
      expect([text, [history, metrics, output].some((each) => each.includes(text))]).toEqual([
        text,
        false,
      ])
    }
    const errors = JSON.stringify(await client.deliveries(id))
    for (const text of Object.values(canary)) expect(errors).not.toContain(text)
    const databases = [service.databaseUrl, databaseBeside(service.databaseUrl, 'temporal')]
    const holding = databases.flatMap((databaseUrl) =>
      [canary.key, rawSecret, canary.answer].map((text) => tablesHolding(databaseUrl, text)),
    )
    expect((await Promise.all(holding)).flat()).toEqual([])
  }, 90_000)
})

describe('a process whose WEBHOOK_KEYS lack the key of a webhook', () => {
  it('refuses to start, and names the key [hook-22]', async () => {
    const client = createWebhookClient({ url: service.url }, await service.account())
    await client.register(`${receiver.url}/`)
    const started = service.startApi({ WEBHOOK_KEYS: 'old:0123456789abcdef' })
    await expect(started).rejects.toThrow(/WEBHOOK_KEYS: webhooks need the key new/)
  })

  it('warns when a worker does not know the address of images', async () => {
    const worker = await service.startWorker({ PUBLIC_URL: '' })
    expect(worker.output()).toContain('PUBLIC_URL is not set')
    await worker.stop()
  })

  it('refuses to start without any', async () => {
    await expect(service.startApi({ WEBHOOK_KEYS: '' })).rejects.toThrow(/WEBHOOK_KEYS is not set/)
  })
})
