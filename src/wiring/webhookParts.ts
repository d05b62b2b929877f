import { required } from '../config/environment.ts'
import { ConfigError } from '../config/configError.ts'
import { assetUrl } from '../http/assetUrl.ts'
import type { App } from './app.ts'
import { neededKeyIds } from '../store/webhooks/webhookRows.ts'
import type { DeliverDue } from '../tasks/webhooks/deliverDue.ts'
import { createDeliverDue } from '../tasks/webhooks/deliverDue.ts'
import type { WebhookKey } from '../tasks/webhooks/webhookSecret.ts'
import type { WebhookService } from '../tasks/webhooks/webhookService.ts'
import { createWebhookService } from '../tasks/webhooks/webhookService.ts'
import { createPostDelivery } from '../receivers/postDelivery.ts'
import { whyNotAddress } from '../receivers/webhookAddress.ts'

/**
 * Returns WEBHOOK_KEYS. Throws `ConfigError` when it is not set. Throws it too when the secret of a webhook is
 * computed from a key that is not in it, because the deliveries of that webhook could not be signed.
 */
async function webhookKeys({ config, pool }: App): Promise<readonly [WebhookKey, ...WebhookKey[]]> {
  const keys = required(config.webhookKeys, 'WEBHOOK_KEYS')
  const unknown = (await neededKeyIds(pool)).filter((id) => keys.every((key) => key.id !== id))
  if (unknown.length === 0) return keys
  throw new ConfigError(
    `WEBHOOK_KEYS: webhooks need the key ${unknown.join(', ')}, which is missing`,
  )
}

/** Creates the functions that the webhook routes of an API process call. */
export async function createApiWebhooks(app: App): Promise<WebhookService> {
  const { config, pool } = app
  return createWebhookService({
    pool,
    whyNotAddress: (text) => whyNotAddress(text, config.webhookPrivate),
    keys: await webhookKeys(app),
  })
}

/**
 * Creates the loop of a worker that delivers events. An event contains the URL of its image, so SIGNING_KEYS must be
 * set. Without PUBLIC_URL the log gets a warning, because a worker does not know where the API listens.
 */
export async function createWorkerWebhooks(app: App): Promise<DeliverDue> {
  const { config, log } = app
  const signingKeys = required(config.signingKeys, 'SIGNING_KEYS')
  const { publicUrl } = config
  if (config.publicUrlGiven === undefined) {
    log.warn(`PUBLIC_URL is not set: webhooks name images by ${publicUrl}`)
  }
  return createDeliverDue({
    ...app,
    post: createPostDelivery({ webhookPrivate: config.webhookPrivate }),
    keys: await webhookKeys(app),
    assetUrl: (task) => assetUrl(task, publicUrl, signingKeys),
  })
}
