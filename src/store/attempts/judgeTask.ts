import { defined } from '../../domain/defined.ts'
import { nextStep } from '../../domain/gate/nextStep.ts'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import type { ChannelState, NextStep } from '../../domain/gate/taskFacts.ts'
import type { Family } from '../../domain/models/models.ts'
import { isSyncRoute } from '../../domain/tasks/imageRequest.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import { outcomeClasses, outcomeReasons } from '../../domain/upstream/upstreamCall.ts'
import type { LockedAttempt, TaskWithAttempts } from '../tasks/lockTask.ts'

export type JudgeDeps = {
  /** Returns the channels of a family, in the operator's order. */
  readonly channelsOf: (family: Family) => readonly Channel[]
  /** Limit for the calls of one task that end with an unknown outcome. */
  readonly callsMax: number
  /** Returns a random number in [0, 1). */
  readonly random: () => number
}

/**
 * Prepares the decision of the gate for a task without an open attempt. Returns the channels in the task's order,
 * the other arguments for reading their states, and `stepBy`, which decides by the states in this order.
 */
export function judgeTask(deps: JudgeDeps, task: TaskWithAttempts) {
  const { taskId, accountId, family, model } = task
  const sync = isSyncRoute(task.route)
  const channels = orderChannels(deps.channelsOf(family), taskId)
  return {
    channels,
    model,
    request: { taskId, accountId, sync },
    stepBy: (nowMs: number, states: readonly ChannelState[]): NextStep =>
      nextStep({
        nowMs,
        ageMs: nowMs - task.createdAtMs,
        deadlineAtMs: task.deadlineAtMs,
        sync,
        past: task.attempts.map(pastAttempt),
        channels: states,
        callsMax: deps.callsMax,
        jitter: deps.random(),
      }),
  }
}

function pastAttempt(attempt: LockedAttempt) {
  const found = outcomeClasses.find((name) => name === attempt.class)
  const reason = outcomeReasons.find((name) => name === attempt.reason)
  if (found === undefined || reason === undefined || attempt.closedAtMs === null) {
    throw new Error(`Bug: attempt ${attempt.n} is not closed with a known class and reason`)
  }
  return {
    channel: attempt.channel,
    class: found,
    reason,
    closedAtMs: attempt.closedAtMs,
    ...defined({ retryAfterMs: attempt.retryAfterMs }),
  }
}
