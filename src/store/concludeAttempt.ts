import type { PoolClient } from 'pg'
import type { Channel } from '../domain/channel.ts'
import type { Family } from '../domain/models.ts'
import type { OutcomeClass, OutcomeEvidence } from '../domain/upstreamOutcome.ts'
import { closeOpenAttempt } from './closeOpenAttempt.ts'
import type { LockedTask } from './lockTask.ts'
import { noteOutcome } from './noteOutcome.ts'

export type ConcludedAttempt = {
  readonly n: number
  readonly class: OutcomeClass
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
}

/**
 * Closes an attempt of a locked task by what its call met, and tells channel and cooldown. False: it was
 * closed before (or given up for lost), nothing changed. The task may have ended: the call has ended now.
 */
export async function concludeAttempt(
  client: PoolClient,
  channelsOf: (family: Family) => readonly Channel[],
  task: Pick<LockedTask, 'taskId' | 'family' | 'model'>,
  met: ConcludedAttempt,
): Promise<boolean> {
  const { taskId, family, model } = task
  const { n, evidence, retryAfterMs } = met
  const closed = await closeOpenAttempt(client, taskId, n, met.class, evidence, retryAfterMs)
  if (closed === undefined) return false
  const channel = channelsOf(family).find(({ name }) => name === closed.channel)
  if (channel === undefined) return true
  await noteOutcome(client, {
    taskId,
    model,
    channel,
    closed,
    class: met.class,
    evidence,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
  return true
}
