import type { Pool } from 'pg'
import { beatFreshMs } from '../../domain/limits.ts'
import type { ModelId } from '../../domain/models/models.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import { runStatement } from '../connection/transaction.ts'

/** How a task came to the process that works on it: through the activity of its run, or without a run (`direct`). */
export type Via = 'direct' | 'workflow'

export type OpenInput = {
  readonly taskId: string
  /** The number of the attempt: one more than the task has had. */
  readonly n: number
  /** The upload where the answer will be stored. The same question can be repeated with the same id. */
  readonly answerId: string
  /** The process that will make the call. */
  readonly processId: string
  readonly via: Via
  readonly channel: Channel
  /** Open the attempt only if the stored request has at most so many bytes. Absent: any number. */
  readonly requestBytesMax?: number
}

/** An attempt whose call must be made now. */
export type OpenedAttempt = Pick<OpenInput, 'n' | 'channel' | 'answerId'> & {
  /** The Idempotency-Key for the upstream. */
  readonly upstreamKey: string
  /** An earlier call with that key may have done work. */
  readonly repeats: boolean
  /** Limit for the call: the channel's timeout, or the time until the task's hard end if that is shorter. */
  readonly timeoutMs: number
  /** Time until the task's hard end. During this time a failed write to the blob store is tried again. */
  readonly hardEndMs: number
  readonly accountId: string
  readonly model: ModelId
  readonly request: ImageRequest
}

export type OpenResult =
  | { readonly kind: 'opened'; readonly attempt: OpenedAttempt }
  /** The task has ended or does not exist. */
  | { readonly kind: 'over' }
  /** The task is past its deadline, has an open attempt, has had another number of attempts, or has a larger request. */
  | { readonly kind: 'changed' }
  /** The process has sent no beat lately. */
  | { readonly kind: 'not_present' }
  /** The channel may not be called for the task's model now. */
  | { readonly kind: 'paused' | 'full' | 'cooldown' }

/**
 * How long the lease of a call lasts after the timeout of the call. A worker stores and settles its answer in this
 * time.
 */
export const leaseGraceMs = 30_000

/**
 * Opens the next attempt of a task, if its call may be made now. The SQL function `open_attempt` in the migration has
 * all conditions.
 */
export async function openAttempt(pool: Pool, input: OpenInput): Promise<OpenResult> {
  const { taskId, n, answerId, processId, via, channel, requestBytesMax } = input
  const { name, concurrencyMax, timeoutMs } = channel
  const [row] = await runStatement<OpenRow>(pool, {
    name: 'open-attempt',
    text: `select outcome, account_id as "accountId", model, key_n as "keyN", hard_end_ms as "hardEndMs", request
      from open_attempt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      taskId,
      n,
      answerId,
      processId,
      via,
      name,
      concurrencyMax,
      timeoutMs,
      leaseGraceMs,
      beatFreshMs,
      requestBytesMax ?? null,
    ],
  })
  if (row === undefined) throw new Error('Bug: open_attempt returned no row')
  if (row.outcome !== 'opened') return { kind: row.outcome }
  const { accountId, model, keyN, hardEndMs } = row
  const request: ImageRequest = JSON.parse(row.request)
  return {
    kind: 'opened',
    attempt: {
      n,
      channel,
      answerId,
      upstreamKey: `${taskId}-${keyN}`,
      repeats: keyN !== n,
      timeoutMs: Math.min(timeoutMs, hardEndMs),
      hardEndMs,
      accountId,
      model,
      request,
    },
  }
}

type OpenRow =
  | { readonly outcome: Exclude<OpenResult['kind'], 'opened'> }
  | {
      readonly outcome: 'opened'
      readonly accountId: string
      readonly model: ModelId
      readonly keyN: number
      readonly hardEndMs: number
      readonly request: string
    }
