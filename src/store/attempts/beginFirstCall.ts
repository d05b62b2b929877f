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
 * How long a worker may be late before the reconciler looks after its task. The lease of a call ends this long after
 * the timeout of the call. The check of a waiting task comes this long after the end of its wait, and the check of a
 * task whose call has ended comes this long after the call.
 */
export const overdueAfterMs = 30_000
/**
 * The same for a waiting task without a run, and after a call of such a task. Shorter, because nobody except its
 * worker continues such a task before the check.
 */
export const offerOverdueAfterMs = 3_000

/**
 * Opens the first attempt of a queued task, if the first channel in the task's order has a free place. This is the
 * gate's fast path for the most frequent case: the SQL function `begin_first_call` checks every condition under the
 * gate's locks and opens the attempt, all in one statement. PostgreSQL holds the lock of the channel's row only
 * during this statement and its commit, so many tasks can begin on one channel in a short time.
 *
 * Returns `undefined` when a condition is not met. Then nothing was written, and the full gate (`beginInTransaction`)
 * must decide.
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
 * Limit for the size of a request on the fast path. PostgreSQL holds the gate's locks until it has sent the last byte
 * of the request to this process. A task with a larger request is left to the full gate.
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
