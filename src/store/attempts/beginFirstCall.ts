import type { Pool } from 'pg'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import { takeOnce } from '../../domain/takeOnce.ts'
import type { RandomBytes } from '../../domain/ids.ts'
import { newUploadId } from '../../domain/ids.ts'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { BeginInput, OpenedAttempt } from '../../domain/ports/attemptStore.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import type { Channel } from '../../domain/upstream/channel.ts'

type BeginFirstCallDeps = {
  readonly pool: Pool
  readonly processId: string
  readonly randomBytes: RandomBytes
  readonly channelsOf: (family: Family) => readonly Channel[]
}

/**
 * How long a worker may be late before it counts as overdue. The lease of a call ends this long after the timeout
 * of the call, and the reconciler checks a waiting task this long after the end of its wait.
 */
export const overdueAfterMs = 30_000
/** The same for a task without a run. Shorter, because nobody else continues the task when its worker dies. */
export const offerOverdueAfterMs = 3_000

/**
 * Opens the first attempt of a queued task, if the first channel in the task's order is free. This is the
 * gate's fast path for the most frequent case. The SQL function `begin_first_call` checks every condition
 * under the gate's locks, and writes, in one statement. The channel's row is locked without a round trip to
 * this process, so many tasks can begin at once on one channel.
 *
 * Returns `undefined` when a condition fails. Then nothing was written, and the gate itself must decide.
 */
export async function beginFirstCall(
  { pool, processId, randomBytes, channelsOf }: BeginFirstCallDeps,
  input: BeginInput,
): Promise<OpenedAttempt | undefined> {
  const { taskId, answerId = newUploadId(randomBytes, 'answer'), via = 'workflow' } = input
  const { requestBytesMax = Infinity } = input
  const first = {
    A: orderChannels(channelsOf('A'), taskId)[0],
    B: orderChannels(channelsOf('B'), taskId)[0],
  }
  const ofBoth = <Value>(read: (channel: Channel) => Value) =>
    [first.A, first.B].map((channel) => channel && read(channel))
  const upstreamKey = `${taskId}-1`
  const { rows } = await pool.query<BegunRow>({
    name: 'begin-first-call',
    text: `select family, model, hard_end_ms as "hardEndMs", request
      from begin_first_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      taskId,
      ofBoth(({ name }) => name),
      ofBoth(({ concurrencyMax }) => concurrencyMax),
      ofBoth(({ timeoutMs }) => timeoutMs),
      Math.min(requestBytesMax, requestBytesUnderLocksMax),
      answerId,
      upstreamKey,
      overdueAfterMs,
      processId,
      via,
    ],
  })
  const [begun] = rows
  const channel = begun?.family && first[begun.family]
  if (!begun?.family || !channel) return undefined
  const { model, hardEndMs } = begun
  const request: ImageRequest = JSON.parse(begun.request)
  return {
    n: 1,
    channel,
    answerId,
    upstreamKey,
    timeoutMs: Math.min(channel.timeoutMs, hardEndMs),
    hardEndMs,
    model,
    takeRequest: takeOnce(request),
  }
}

/**
 * Limit for the request that `begin_first_call` returns. PostgreSQL keeps the gate's locks until it has sent the
 * last byte of the request to this process. A larger request is left to the gate's full form.
 */
const requestBytesUnderLocksMax = 256 * 1024

type BegunRow =
  | { readonly family: null }
  | {
      readonly family: Family
      readonly model: ModelId
      readonly hardEndMs: number
      readonly request: string
    }
