import type { PoolClient } from 'pg'
import type { Channel } from '../../domain/channel.ts'
import { defined } from '../../domain/defined.ts'
import { afterGrant, afterRefusal } from '../../domain/gate/cooldown.ts'
import type { ModelId } from '../../domain/models.ts'
import type { OutcomeClass, OutcomeEvidence } from '../../domain/upstreamCall.ts'
import type { ClosedAttempt } from '../attempts/closeAttempt.ts'
import { lockChannelStates, saveCooldown } from './channelStates.ts'

type NotedOutcome = {
  readonly taskId: string
  readonly model: ModelId
  readonly channel: Channel
  readonly closed: ClosedAttempt
  readonly class: OutcomeClass
  readonly evidence: OutcomeEvidence
  readonly retryAfterMs?: number
}

/** Two different tasks in a row that meet our own fault: the channel is not going to mend itself. */
const faultsUntilPause = 2

/**
 * Tells the channel what a call on it met: a refusal begins or lengthens the cooldown, anything else is
 * a grant; an operator's fault counts towards the pause (design 1.7, 1.8).
 */
export async function noteOutcome(client: PoolClient, noted: NotedOutcome): Promise<void> {
  // Our own blob store's fault: the channel has seen nothing of it.
  if (noted.evidence.reason === 'inputs_unreadable') return
  const refused = noted.class === 'refused'
  const { hasCooldown, hasFaults } = noted.closed
  if (refused || hasCooldown) await learn(client, noted)
  if (noted.class === 'operator_fault') await countFault(client, noted)
  else if (!refused && hasFaults) await forgetFaults(client, noted.channel.name)
}

async function learn(client: PoolClient, noted: NotedOutcome): Promise<void> {
  const { channel, model, retryAfterMs } = noted
  const { openedAtMs } = noted.closed
  const [state] = await lockChannelStates(client, [channel], model)
  const open = state?.open ?? { asking: 0, taken: 0 }
  const nowMs = await databaseNowMs(client)
  const key = { channel: channel.name, model }
  if (noted.class === 'refused') {
    // This attempt is closed already, and was in flight when it was refused.
    const inFlight = (state?.inFlightOfModel ?? 0) + 1
    const input = {
      nowMs,
      openedAtMs,
      inFlight,
      open,
      ...defined({ retryAfterMs }),
    }
    await saveCooldown(client, key, afterRefusal(state?.cooldown, input))
  } else if (state?.cooldown !== undefined) {
    const { concurrencyMax } = channel
    const input = { nowMs, openedAtMs, open, concurrencyMax }
    await saveCooldown(client, key, afterGrant(state.cooldown, input))
  }
}

async function databaseNowMs(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ nowMs: number }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`,
  )
  return rows[0]?.nowMs ?? 0
}

async function countFault(client: PoolClient, noted: NotedOutcome): Promise<void> {
  await client.query(
    `update channel set
       faults = case when fault_task_id = $2 then faults else faults + 1 end,
       fault_task_id = $2,
       paused_at = case when paused_at is null and fault_task_id is distinct from $2
         and faults + 1 >= $4 then now() else paused_at end,
       pause_reason = case when paused_at is null and fault_task_id is distinct from $2
         and faults + 1 >= $4 then $3 else pause_reason end
     where name = $1`,
    [noted.channel.name, noted.taskId, pauseReason(noted.evidence), faultsUntilPause],
  )
}

async function forgetFaults(client: PoolClient, channel: string): Promise<void> {
  await client.query({
    name: 'forget-faults',
    text: `update channel set faults = 0, fault_task_id = null where name = $1 and faults > 0`,
    values: [channel],
  })
}

function pauseReason(evidence: OutcomeEvidence): string {
  const status = evidence.httpStatus === undefined ? '' : ` (HTTP ${evidence.httpStatus})`
  return `upstream refuses our access: ${evidence.reason}${status}`
}
