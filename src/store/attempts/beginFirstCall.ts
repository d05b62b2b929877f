import type { Pool } from 'pg'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import { takeOnce } from '../../domain/takeOnce.ts'
import type { RandomBytes } from '../../domain/ids.ts'
import { newUploadId } from '../../domain/ids.ts'
import type { Family, ModelId } from '../../domain/models/models.ts'
import type { BeginInput, OpenedAttempt } from '../../domain/ports/attemptStore.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import { runStatement } from '../connection/transaction.ts'
import { overdueAfterMs } from './overdue.ts'

type BeginFirstCallDeps = {
  readonly pool: Pool
  readonly processId: string
  readonly randomBytes: RandomBytes
  readonly channelsOf: (family: Family) => readonly Channel[]
}

/** The question of one task, the answer id of the attempt, and the first channel of each family for this task. */
type Asked = {
  readonly input: BeginInput
  readonly answerId: string
  readonly first: Readonly<Record<Family, Channel | undefined>>
}

export type FastPath = {
  readonly beginFirstCall: (input: BeginInput) => Promise<OpenedAttempt | undefined>
}

/**
 * Creates the function that opens the first attempt of a queued task, if the first channel in the task's order has a
 * free place. This is the gate's fast path for the most frequent case: the SQL function `begin_first_calls` checks
 * every condition under the gate's locks and opens the attempt, all in one statement. PostgreSQL holds the lock of
 * the channel's row only during this statement and its commit.
 *
 * Returns `undefined` when a condition is not met. Then nothing was written, and the full gate (`beginInTransaction`)
 * must decide.
 */
export function createBeginFirstCall(deps: BeginFirstCallDeps): FastPath['beginFirstCall'] {
  const { randomBytes, channelsOf } = deps
  return async (input) => {
    const { taskId, answerId = newUploadId(randomBytes, 'answer') } = input
    const first = {
      A: orderChannels(channelsOf('A'), taskId)[0],
      B: orderChannels(channelsOf('B'), taskId)[0],
    }
    const begun = await begin(deps, { input, answerId, first })
    const channel = begun && first[begun.family]
    return begun && channel && openedAttempt(taskId, channel, begun)
  }
}

async function begin(
  { pool, processId }: BeginFirstCallDeps,
  { input, answerId, first }: Asked,
): Promise<BegunRow | undefined> {
  const ofBoth = <Value>(read: (channel: Channel) => Value) =>
    [first.A, first.B].map((channel) => channel && read(channel))
  const [row] = await runStatement<BegunRow>(pool, {
    name: 'begin-first-calls',
    text: `select answer_id as "answerId", account_id as "accountId", family, model,
        hard_end_ms as "hardEndMs", request
      from begin_first_calls($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      [input.taskId],
      [answerId],
      [input.via ?? 'workflow'],
      [Math.min(input.requestBytesMax ?? Infinity, requestBytesUnderLocksMax)],
      ofBoth(({ name }) => name),
      ofBoth(({ concurrencyMax }) => concurrencyMax),
      ofBoth(({ timeoutMs }) => timeoutMs),
      overdueAfterMs,
      processId,
    ],
  })
  return row
}

function openedAttempt(taskId: string, channel: Channel, row: BegunRow): OpenedAttempt {
  const { answerId, accountId, model, hardEndMs } = row
  const request: ImageRequest = JSON.parse(row.request)
  return {
    n: 1,
    channel,
    answerId,
    upstreamKey: `${taskId}-1`,
    timeoutMs: Math.min(channel.timeoutMs, hardEndMs),
    hardEndMs,
    accountId,
    model,
    takeRequest: takeOnce(request),
  }
}

/**
 * Limit for the size of a request on the fast path. PostgreSQL holds the gate's locks until it has sent the last byte
 * of all requests of a statement to this process: at most 2 MiB for 32 tasks. A task with a larger request is left to
 * the full gate.
 */
const requestBytesUnderLocksMax = 64 * 1024

type BegunRow = {
  readonly answerId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly hardEndMs: number
  readonly request: string
}
