import type { Pool } from 'pg'
import { orderChannels } from '../../domain/gate/orderChannels.ts'
import { handOver } from '../../domain/handOver.ts'
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
 * Extra time for a worker before it counts as overdue. A lease lasts this much longer than the call's
 * timeout. The reconciler checks a waiting task this long after the end of its wait.
 */
export const overdueAfterMs = 30_000
/** The same for a task without a run. Nobody else continues such a task when its worker dies. */
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
  const firstOf = (family: Family) => orderChannels(channelsOf(family), taskId)[0]
  const task = await readQueuedTask(pool, input, firstOf)
  const channel = task === undefined ? undefined : firstOf(task.family)
  if (task === undefined || channel === undefined) return undefined
  const upstreamKey = `${taskId}-1`
  const { name, concurrencyMax } = channel
  const { rows } = await pool.query<{ hardEndMs: number | null; request: string | null }>({
    name: 'begin-first-call',
    text: `select hard_end_ms as "hardEndMs", request
      from begin_first_call($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      taskId,
      name,
      concurrencyMax,
      answerId,
      upstreamKey,
      channel.timeoutMs,
      overdueAfterMs,
      processId,
      via,
    ],
  })
  const { hardEndMs, request: text } = rows[0] ?? {}
  if (typeof hardEndMs !== 'number' || typeof text !== 'string') return undefined
  const timeoutMs = Math.min(channel.timeoutMs, hardEndMs)
  const request: ImageRequest = JSON.parse(text)
  const takeRequest = handOver(request)
  const { model } = task
  return { n: 1, channel, answerId, upstreamKey, timeoutMs, hardEndMs, model, takeRequest }
}

/** Reads a queued task without locks. Returns `undefined` when the fast path cannot succeed. */
async function readQueuedTask(
  pool: Pool,
  { taskId, requestBytesMax = Infinity }: BeginInput,
  firstOf: (family: Family) => Channel | undefined,
): Promise<QueuedTask | undefined> {
  const readBytesMax = Math.min(requestBytesMax, requestBytesUnderLocksMax)
  const { rows } = await pool.query<QueuedTask>({
    name: 'read-queued',
    text: readSql,
    values: [taskId, firstOf('A')?.name, firstOf('B')?.name, readBytesMax],
  })
  return rows[0]
}

/**
 * Limit for a request that is read under the gate's locks. The locks last until the last byte of it is sent
 * to this process.
 */
const requestBytesUnderLocksMax = 256 * 1024

type QueuedTask = { readonly family: Family; readonly model: ModelId }

const readSql = `
  select family, model
  from task, lateral (select case family when 'A' then $2::text else $3::text end as name) first
  where task_id = $1 and status = 'queued' and request is not null
    and octet_length(request) <= $4
    and not exists (
      select from cooldown where channel = first.name and cooldown.model = task.model
    )
    and not exists (
      select from place_queue where channel = first.name and present_until > clock_timestamp()
    )`
