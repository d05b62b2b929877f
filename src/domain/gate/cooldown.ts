import { cooldownMsMax } from '../limits.ts'
import type { OutcomeClass, OutcomeReason } from '../upstream/upstreamCall.ts'
import { isOwnFault, isUpstreamRefusal } from './taskFacts.ts'

/**
 * The cooldown that the end of a call begins or lengthens. In the schema the table `cooldown` says what its row means,
 * and the function `begin_cooldown`, which gets this as JSON, writes it.
 */
export type Cooldown = {
  /** Whether it is for every model of the channel. */
  readonly everyModel: boolean
  /** The operator's fault, not a refusal. */
  readonly fault: boolean
  /** The time that the upstream named. Without it the first cooldown lasts `firstMs`, and each next one twice as long. */
  readonly namedMs?: number
  readonly firstMs: number
  readonly mostMs: number
  /** How many calls may be under way after the first cooldown. */
  readonly firstMax: number
}

const refusal = { everyModel: false, fault: false, firstMs: 1_000, mostMs: 30_000 }
const fault = { fault: true, firstMax: 1, firstMs: 60_000, mostMs: cooldownMsMax }

/**
 * Returns the cooldown after a call with this outcome, or `undefined` when other tasks have no reason to wait. A refusal
 * is for the model: vendors limit models. A fault is for every model, because a credential is, unless the vendor does
 * not know the model.
 */
export function cooldownAfter(outcome: {
  readonly class: OutcomeClass
  readonly reason: OutcomeReason
  readonly retryAfterMs?: number | undefined
  /** The places of the channel, half of which it keeps at its first refusal. Default 2. */
  readonly concurrencyMax?: number | undefined
}): Cooldown | undefined {
  const { reason, retryAfterMs, concurrencyMax = 2 } = outcome
  if (isOwnFault(outcome)) return undefined
  if (outcome.class === 'operator_fault') {
    return { ...fault, everyModel: reason !== 'model_not_found' }
  }
  if (!isUpstreamRefusal(outcome)) return undefined
  const firstMax = Math.max(1, Math.floor(concurrencyMax / 2))
  if (retryAfterMs === undefined) return { ...refusal, firstMax }
  return { ...refusal, firstMax, namedMs: Math.min(retryAfterMs, cooldownMsMax) }
}
