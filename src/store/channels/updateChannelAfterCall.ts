import type { PoolClient } from 'pg'
import { defined } from '../../domain/defined.ts'
import { afterGrant, afterRefusal } from '../../domain/gate/cooldown.ts'
import { isOwnFault } from '../../domain/gate/taskFacts.ts'
import type { ModelId } from '../../domain/models/models.ts'
import type { Channel } from '../../domain/upstream/channel.ts'
import type { OutcomeClass, OutcomeEvidence } from '../../domain/upstream/upstreamCall.ts'
import { lockChannelStates, saveCooldown } from './channelStates.ts'

/** An attempt that was just closed. */
export type ClosedAttempt = {
  readonly channel: string
  readonly openedAtMs: number
  /** The attempt's model has a cooldown on the channel. */
  readonly hasCooldown: boolean
  /** The channel's last outcomes were operator's faults. */
  readonly hasFaults: boolean
}

type EndedCall = {
  readonly taskId: string
  readonly model: ModelId
  readonly channel: Channel
  readonly closed: ClosedAttempt
  readonly class: OutcomeClass
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
}

/** Faults of two different tasks in a row: the channel does not recover by itself. */
const faultsUntilPause = 2

/**
 * Updates a channel after a call on it has ended. A refusal starts or lengthens the cooldown of the
 * model; every other outcome counts as a grant. An operator's fault counts towards a pause of the
 * channel. The caller has locked the task.
 */
export async function updateChannelAfterCall(client: PoolClient, call: EndedCall): Promise<void> {
  // The channel was not called.
  if (isOwnFault(call.evidence)) return
  const refused = call.class === 'refused'
  const { hasCooldown, hasFaults } = call.closed
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
    // This attempt is closed already, and was in flight when it was refused.
    const inFlight = (state?.inFlightOfModel ?? 0) + 1
    const input = { nowMs, openedAtMs, inFlight, open, ...defined({ retryAfterMs }) }
    await saveCooldown(client, key, afterRefusal(state?.cooldown, input))
  } else if (state?.cooldown !== undefined) {
    const { concurrencyMax } = channel
    const input = { nowMs, openedAtMs, open, concurrencyMax }
    await saveCooldown(client, key, afterGrant(state.cooldown, input))
  }
}

/** Read after the lock on the channel: a wait for it can be long. */
async function databaseNowMs(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ nowMs: number }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`,
  )
  return rows[0]?.nowMs ?? 0
}

/** Several faults of one task count once. A paused channel keeps its time and reason. */
async function countFault(client: PoolClient, call: EndedCall): Promise<void> {
  await client.query(
    `update channel set
       faults = case when fault_task_id = $2 then faults else faults + 1 end,
       fault_task_id = $2,
       paused_at = case when paused_at is null and fault_task_id is distinct from $2
         and faults + 1 >= $4 then now() else paused_at end,
       pause_reason = case when paused_at is null and fault_task_id is distinct from $2
         and faults + 1 >= $4 then $3 else pause_reason end
     where name = $1`,
    [call.channel.name, call.taskId, pauseReason(call.evidence), faultsUntilPause],
  )
}

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
