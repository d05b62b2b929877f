import type { WebhookKey } from './webhookSecret.ts'
import { webhookSecret } from './webhookSecret.ts'
import type { DeliveryStore } from '../../store/webhooks/webhookStore.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import type { ClaimedDelivery, DeliveryError } from '../../domain/webhooks/delivery.ts'
import { eventOfDelivery } from '../../domain/webhooks/event.ts'
import type { Verdict } from '../../domain/webhooks/retries.ts'
import { verdictOf } from '../../domain/webhooks/retries.ts'

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
  readonly store: Pick<DeliveryStore, 'recordTry'>
  readonly post: PostDelivery
  readonly keys: readonly WebhookKey[]
  /** Returns the signed URL of a task's image, or `undefined` when the task has no image. */
  readonly assetUrl: (task: TaskView) => string | undefined
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
  /** Returns a number from 0 to 1. */
  readonly random: () => number
  /** Called after each try, also after a try that failed. Must not throw. */
  readonly onTry: (seen: SeenTry) => void
}

/** A try that is over, for the log and the metrics. It contains no text of the account or the receiver. */
export type SeenTry = {
  readonly webhookId: string
  readonly taskId: string | undefined
  readonly verdict: Verdict['kind']
  readonly httpStatus?: number
  readonly error?: DeliveryError
  readonly durationMs: number
}

/** Makes one try. Throws when its outcome could not be recorded. */
export type TryDelivery = (claimed: ClaimedDelivery) => Promise<void>

/** Creates the function that makes one try of a claimed delivery and records what came of it. */
export function createTryDelivery(deps: TryDeliveryDeps): TryDelivery {
  return async (claimed) => {
    const { deliveryId, webhookId, tries, url } = claimed
    const secrets = claimed.secrets.map((secret) => webhookSecret(deps.keys, webhookId, secret))
    const body = JSON.stringify(eventOfDelivery(claimed, deps.assetUrl))
    const startedAtMs = deps.nowMs()
    const outcome = await deps.post({ url, deliveryId, body, secrets })
    const durationMs = Math.round(deps.nowMs() - startedAtMs)
    const verdict = verdictOf(outcome, tries, deps.random())
    const { retryAfterMs: _unrecorded, ...kept } = outcome
    await deps.store.recordTry(claimed, { ...kept, durationMs }, verdict)
    const taskId = claimed.task?.taskId
    deps.onTry({ webhookId, taskId, verdict: verdict.kind, ...kept, durationMs })
  }
}
