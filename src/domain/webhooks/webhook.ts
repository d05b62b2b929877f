import { randomText } from '../ids.ts'

/** The events that a webhook receives unless it names others. */
export const taskEndEvents = ['task.succeeded', 'task.failed'] as const

/** The events that a webhook can receive. */
export const webhookEvents = [
  ...taskEndEvents,
  'account.balance_low',
  'key.budget_reached',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

/**
 * Names a secret of a webhook. The secret itself is computed from the webhook's id, the version and the key `keyId`
 * of WEBHOOK_KEYS.
 */
export type SecretVersion = { readonly keyId: string; readonly version: number }

/** Limit for the webhooks of one account. */
export const webhooksMax = 5

/** Limit for the length of the address of a webhook, in characters. */
export const webhookUrlLengthMax = 2_048

/** How long after a rotation the previous secret signs too. */
export const rotationMs = 24 * 3_600_000

/** Limit for the test deliveries of one webhook. Beyond it, the oldest ended ones are deleted. */
export const testDeliveriesMax = 20

/** Returns a random webhook id. */
export function newWebhookId(): string {
  return `wh_${randomText(24)}`
}
