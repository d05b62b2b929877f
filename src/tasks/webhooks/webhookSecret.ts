import { createHmac } from 'node:crypto'
import type { SecretVersion } from '../../domain/webhooks/webhook.ts'

/** One secret of WEBHOOK_KEYS. New secrets of webhooks are computed from the first one. */
export type WebhookKey = { readonly id: string; readonly secret: string }

/**
 * Returns the secret of a webhook in the form of Standard Webhooks: `whsec_` and 32 bytes in Base64. The secret is an
 * HMAC of the webhook's id and the version, so it need not be stored. `postDelivery.ts` signs deliveries with it.
 * Throws when the key is not in WEBHOOK_KEYS. A process checks at its start that the keys of all webhooks are there.
 */
export function webhookSecret(
  keys: readonly WebhookKey[],
  webhookId: string,
  { keyId, version }: SecretVersion,
): string {
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined) throw new Error(`WEBHOOK_KEYS has no key ${keyId}`)
  const text = JSON.stringify(['darkroom webhook', webhookId, version])
  return `whsec_${createHmac('sha256', key.secret).update(text).digest('base64')}`
}
