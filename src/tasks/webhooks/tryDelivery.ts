import type { Pool } from 'pg'
import type { WebhookKey } from './webhookSecret.ts'
import { webhookSecret } from './webhookSecret.ts'
import { defined } from '../../domain/defined.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { ClaimedDelivery, DeliveryError } from '../../domain/webhooks/delivery.ts'
import { eventOfDelivery } from '../../domain/webhooks/event.ts'
import { verdictOf } from '../../domain/webhooks/retries.ts'
import { recordTry } from '../../store/webhooks/recordTry.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Recorders } from '../../telemetry/metrics.ts'

/** An event on its way to a receiver. It is signed once with each secret. */
export type Post = {
  readonly url: string
  readonly deliveryId: string
  readonly body: string
  readonly secrets: readonly string[]
}

/** What is kept of an answer, or why there was none. */
export type PostOutcome = {
  readonly httpStatus?: number
  readonly retryAfterMs?: number
  readonly error?: DeliveryError
}

/** Signs an event and posts it to its receiver. Never throws when the receiver fails. */
export type PostDelivery = (post: Post) => Promise<PostOutcome>

export type TryDeliveryDeps = {
  readonly pool: Pool
  readonly log: Logger
  readonly metrics: Recorders
  readonly post: PostDelivery
  readonly keys: readonly WebhookKey[]
  /** Returns the signed URL of a task's image, or `undefined` when the task has no image. */
  readonly assetUrl: (task: TaskView) => string | undefined
}

/**
 * Makes one try of a claimed delivery and records what came of it. Throws when that could not be recorded. Log and
 * metrics get no text of the account or the receiver.
 */
export async function tryDelivery(deps: TryDeliveryDeps, claimed: ClaimedDelivery): Promise<void> {
  const { deliveryId, webhookId, tries, url, task } = claimed
  const secrets = claimed.secrets.map((secret) => webhookSecret(deps.keys, webhookId, secret))
  const body = JSON.stringify(eventOfDelivery(claimed, deps.assetUrl))
  const startedAtMs = performance.now()
  const outcome = await deps.post({ url, deliveryId, body, secrets })
  const durationMs = Math.round(performance.now() - startedAtMs)
  const verdict = verdictOf(outcome, tries, Math.random())
  const { httpStatus, error } = outcome
  await recordTry(deps.pool, claimed, { durationMs, ...defined({ httpStatus, error }) }, verdict)
  deps.metrics.webhookTry({ outcome: verdict.kind, durationMs })
  deps.log.info('webhook try', {
    webhookId,
    class: verdict.kind,
    durationMs,
    ...defined({ taskId: task?.taskId, httpStatus, reason: error }),
  })
}
