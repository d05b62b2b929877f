import { assertNever } from '../src/domain/assertNever.ts'
import type { ProduceResult } from '../src/tasks/produceResult.ts'

export type Wait = Extract<ProduceResult, { kind: 'wait' }>

/**
 * What Temporal's UI shows of a task that waits: `429 from b-main, until 12:00:37 UTC`. Of a paused
 * channel nobody knows until when.
 */
export function waitMessage(wait: Wait, nowMs: number): string {
  if (wait.reason === 'channel_paused') return causeOf(wait)
  const until = new Date(nowMs + wait.delayMs).toISOString().slice(11, 19)
  return `${causeOf(wait)}, until ${until} UTC`
}

function causeOf({ reason, channel = 'every channel', refusedBy }: Wait): string {
  switch (reason) {
    case 'cooldown':
      if (refusedBy === undefined) return `${channel} cools down`
      return refusedBy.httpStatus === undefined
        ? `no connection to ${refusedBy.channel}`
        : `${refusedBy.httpStatus} from ${refusedBy.channel}`
    case 'slow_start':
      return `${channel} is asked again slowly after a refusal`
    case 'channel_full':
      return `${channel} is full`
    case 'channel_paused':
      return `${channel} is paused`
    case 'call_under_way':
      return `an earlier call on ${channel} is under way`
    case 'backoff':
      return `${channel} is given a rest after a call without a good end`
    default:
      return assertNever(reason)
  }
}
