import type { WebhookService } from '../../../src/tasks/webhooks/webhookService.ts'
import { fail, succeed } from '../../../src/domain/result.ts'

/** The webhooks of accounts that have none and cannot register one. */
export function createFakeWebhooks(): WebhookService {
  const missing = async () => fail({ tag: 'webhook_not_found' } as const)
  return {
    whyNotAddress: () => undefined,
    register: async () => fail({ tag: 'too_many_webhooks' }),
    list: async () => [],
    read: missing,
    remove: missing,
    rotate: missing,
    enable: missing,
    test: missing,
    deliveries: async () => succeed([]),
    redeliver: missing,
  }
}
