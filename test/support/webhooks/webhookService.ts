import { afterEach } from 'vitest'
import type { TestService } from '../service/testService.ts'
import { startTestService } from '../service/testService.ts'
import { useOpened } from '../useOpened.ts'
import type { Receiver } from './receiver.ts'
import { startReceiver } from './receiver.ts'
import type { WebhookClient } from './webhookClient.ts'
import { createWebhookClient } from './webhookClient.ts'

/** A whole service, and a receiver for the webhooks of its accounts. */
type WebhookService = {
  readonly service: TestService
  readonly receiver: Receiver
  /** Makes a client of a new account, and an address of its own at the receiver. */
  readonly newClient: () => Promise<{ client: WebhookClient; path: string; url: string }>
}

/**
 * Starts a `WebhookService` before the tests of the calling file, and stops it after them. After each test the
 * receiver answers 200 again.
 */
export function useWebhookService(): WebhookService {
  let accounts = 0
  const started = useOpened(startWebhookService, (opened) => opened.stop(), ['service', 'receiver'])
  afterEach(() => {
    started.receiver.behave = 200
  })
  return Object.assign(started, {
    newClient: async () => {
      accounts += 1
      const path = `/hooks/${accounts}`
      const { service, receiver } = started
      const client = createWebhookClient({ url: service.url }, await service.account())
      return { client, path, url: `${receiver.url}${path}` }
    },
  })
}

async function startWebhookService() {
  const environment = { PUBLIC_URL: 'https://images.example.test' }
  const service = await startTestService({ environment })
  const receiver = await startReceiver()
  return {
    service,
    receiver,
    stop: async () => {
      await receiver.close()
      await service.stop()
    },
  }
}
