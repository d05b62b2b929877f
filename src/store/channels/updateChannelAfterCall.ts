import type { PoolClient } from 'pg'
import { defined } from '../../domain/defined.ts'
import { afterGrant, afterRefusal } from '../../domain/gate/cooldown.ts'
import { isOwnFault } from '../../domain/gate/taskFacts.ts'
import type { ModelId } from '../../domain/models/models.ts'
import { familyOf, modelIds } from '../../domain/models/models.ts'
import type { AttemptOutcome } from '../../domain/ports/attemptStore.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { OutcomeEvidence } from '../../domain/upstream/upstreamCall.ts'
import { lockChannelStates, saveCooldown } from './channelStates.ts'

/** An attempt that was just closed. */
export type ClosedAttempt = {
  readonly channel: string
  readonly openedAtMs: number
  /** Whether the attempt's model has a cooldown on the channel. */
  readonly hasCooldown: boolean
  /** Whether the channel's count of operator's faults is above 0. */
  readonly hasFaults: boolean
}

type EndedCall = Omit<AttemptOutcome, 'n'> & {
  readonly taskId: string
  readonly model: ModelId
  readonly channel: Channel
  readonly closed: ClosedAttempt
}

/**
 * Updates a channel after a call on it has ended. The caller has locked the task.
 * - A refusal starts or lengthens the cooldown of the model. It does not change the count of faults.
 * - After any other outcome, the call counts as taken in the slow start.
 * - An operator's fault is counted, and can pause the channel. Any other outcome except a refusal resets the count.
 * - An attempt whose call we did not make changes nothing.
 */
export async function updateChannelAfterCall(client: PoolClient, call: EndedCall): Promise<void> {
  // We did not call the channel.
  if (isOwnFault(call.evidence)) return
  const { hasCooldown, hasFaults } = call.closed
  const refused = call.class === 'refused'
  if (refused || hasCooldown) await updateCooldown(client, call)
  if (call.class === 'operator_fault') await countFault(client, call)
  else if (!refused && hasFaults) await resetFaults(client, call.channel.name)
}

async function updateCooldown(client: PoolClient, call: EndedCall): Promise<void> {
  const { channel, model, retryAfterMs } = call
  const { openedAtMs } = call.closed
  const [state] = await lockChannelStates(client, [channel], model)
  const open = state?.open ?? { asking: 0, taken: 0 }
  const nowMs = await databaseNowMs(client)
  const key = { channel: channel.name, model }
  if (call.class === 'refused') {
    // This attempt counts too. It is already closed, but it was in flight when the upstream refused it.
    const inFlight = (state?.inFlightOfModel ?? 0) + 1
    const input = { nowMs, openedAtMs, inFlight, open, ...defined({ retryAfterMs }) }
    await saveCooldown(client, key, afterRefusal(state?.cooldown, input))
  } else if (state?.cooldown !== undefined) {
    const { concurrencyMax } = channel
    const input = { nowMs, openedAtMs, open, concurrencyMax }
    await saveCooldown(client, key, afterGrant(state.cooldown, input))
  }
}

/**
 * Reads PostgreSQL's clock. Call this after the channel is locked: the wait for the lock can be long, and an earlier
 * time would be wrong.
 */
async function databaseNowMs(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ nowMs: number }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`,
  )
  return rows[0]?.nowMs ?? 0
}

/**
 * Counts an operator's fault, and pauses the channel if `pausesSql` says so. Several faults of the same task in a row
 * count once. A channel that is already paused keeps the time and the reason of its pause.
 */
async function countFault(client: PoolClient, call: EndedCall): Promise<void> {
  const { channel, taskId, evidence } = call
  // If two faults come at the same time, the lock makes the second one wait, so that it sees the first one.
  await client.query('select from channel where name = $1 for update', [channel.name])
  const certain = evidence.reason === 'credential' || evidence.reason === 'model_not_found'
  const ofFamily = modelIds.filter((model) => familyOf(model) === channel.family)
  const { rowCount } = await client.query(pausesSql, [channel.name, taskId, certain, ofFamily])
  await client.query(
    `update channel set
       faults = case when fault_task_id = $2 then faults else faults + 1 end,
       fault_task_id = $2,
       paused_at = case when $3 then now() else paused_at end,
       pause_reason = case when $3 then $4 else pause_reason end
     where name = $1`,
    [channel.name, taskId, rowCount === 1, pauseReason(evidence)],
  )
}

/**
 * Returns a row if the fault that task $2 has just met must pause the channel $1. It must if the channel is not
 * paused yet, if the last outcome before (refusals do not count) was an operator's fault of another task, and if one
 * of these conditions is true:
 * - No request can cause the fault ($3): the vendor refuses the credential, or does not know the model.
 * - The other task belongs to another account. A client may be able to cause a 403, for example with a prompt that
 *   the vendor repeats in its message. But one account must not stop a channel for the others.
 * - No other account used the family in the last day, so a pause stops nobody else. Without this condition, faults
 *   other than those of $3 would never pause a channel of a family that only one account uses.
 *
 * One account can have very many tasks. So the query looks for only one recent task of each account, by an index of the
 * models ($4: those of the family).
 */
const pausesSql = `
  select from channel join task own on own.task_id = $2
  where channel.name = $1 and paused_at is null and faults > 0 and fault_task_id <> $2
    and (
      $3
      or exists (
        select from task other
        where other.task_id = channel.fault_task_id and other.account_id <> own.account_id
      )
      or not exists (
        select from account other, lateral (
          select from task t
          where t.account_id = other.account_id and t.model = any ($4)
            and t.created_at > now() - interval '1 day'
          limit 1
        ) recent
        where other.account_id <> own.account_id
      )
    )`

function pauseReason(evidence: OutcomeEvidence): string {
  const status = evidence.httpStatus === undefined ? '' : ` (HTTP ${evidence.httpStatus})`
  return `upstream refuses our access: ${evidence.reason}${status}`
}

async function resetFaults(client: PoolClient, channel: string): Promise<void> {
  await client.query({
    name: 'forget-faults',
    text: `update channel set faults = 0, fault_task_id = null where name = $1 and faults > 0`,
    values: [channel],
  })
}
