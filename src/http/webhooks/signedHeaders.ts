import { Webhook } from 'standardwebhooks'
import type { Post } from '../../domain/ports/webhookStore.ts'

/**
 * Returns the headers of one try: the id of the delivery, the time of the try in Unix seconds, and one signature
 * for each secret, as the specification of Standard Webhooks says.
 */
export function signedHeaders(
  { deliveryId, body, secrets }: Post,
  nowMs: number,
): Record<string, string> {
  const at = new Date(nowMs)
  const signatures = secrets.map((secret) => new Webhook(secret).sign(deliveryId, at, body))
  return {
    'content-type': 'application/json',
    'user-agent': 'Darkroom-Webhooks/1',
    'webhook-id': deliveryId,
    'webhook-timestamp': String(Math.floor(nowMs / 1000)),
    'webhook-signature': signatures.join(' '),
  }
}
