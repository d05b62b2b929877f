import { isoTime, isoTimeOrNull } from '../domain/isoTime.ts'
import type { ModelId } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ChannelStatus } from '../store/channels/channelAdmin.ts'
import * as store from '../store/channels/channelAdmin.ts'
import type { ChannelCheck } from '../upstream/checkChannel.ts'
import { audited } from './audit.ts'
import type { List, OperationDeps, OperationFailure } from './operation.ts'
import { listOf } from './operation.ts'

export type ChannelJson = {
  readonly name: string
  readonly paused_at: string | null
  readonly pause_reason: string | null
  /** The calls under way. */
  readonly in_flight: number
  readonly cooldowns: readonly { readonly model: ModelId; readonly until: string }[]
}

type ChannelResult = Promise<Result<ChannelJson, OperationFailure>>

/** Lists the channels that any worker has had, by name. */
export async function listChannels({ pool }: OperationDeps): Promise<List<ChannelJson>> {
  return listOf((await store.listChannels(pool)).map(channelJson))
}

export type Pause = { readonly name: string; readonly reason: string }

/** Pauses a channel. One that is paused already keeps the time and the reason of its pause. */
export async function pauseChannel(deps: OperationDeps, { name, reason }: Pause): ChannelResult {
  const change = { action: 'channel.pause', target: name, params: { reason } }
  return audited(deps, change, async (client) =>
    found(await store.pauseChannel(client, name, reason), name),
  )
}

/** Ends the pause and the cooldowns of a channel. */
export async function resumeChannel(deps: OperationDeps, name: string): ChannelResult {
  return audited(deps, { action: 'channel.resume', target: name, params: {} }, async (client) =>
    found(await store.resumeChannel(client, name), name),
  )
}

export type ChannelCheckJson = {
  readonly name: string
  readonly result: ChannelCheck['result']
  readonly url: string
  /** The name of the header that carries the credential. */
  readonly header: string
  readonly http_status: number | null
  readonly latency_ms: number | null
  readonly reason: string | null
}

export type CheckDeps = {
  /** Makes a free call on a channel of the operator's file. Returns `undefined` for a name that is not in it. */
  readonly checkChannel: (name: string) => Promise<ChannelCheck | undefined>
}

/** Makes one call on a channel that costs nothing. Changes nothing. */
export async function checkChannel(
  deps: CheckDeps,
  name: string,
): Promise<Result<ChannelCheckJson, OperationFailure>> {
  const checked = await deps.checkChannel(name)
  if (checked === undefined) {
    const what = `channel named ${JSON.stringify(name)} in the operator's file (DARKROOM_CONFIG)`
    return fail({ kind: 'not_found', what })
  }
  const { result, url, header, httpStatus, latencyMs, reason } = checked
  return succeed({
    name,
    result,
    url,
    header,
    http_status: httpStatus ?? null,
    latency_ms: latencyMs ?? null,
    reason: reason ?? null,
  })
}

function found(
  channel: ChannelStatus | undefined,
  name: string,
): Result<ChannelJson, OperationFailure> {
  if (channel !== undefined) return succeed(channelJson(channel))
  return fail({ kind: 'not_found', what: `channel named ${JSON.stringify(name)}` })
}

function channelJson(channel: ChannelStatus): ChannelJson {
  const { name, pausedAtMs, pauseReason, inFlight, cooldowns } = channel
  return {
    name,
    paused_at: isoTimeOrNull(pausedAtMs),
    pause_reason: pauseReason ?? null,
    in_flight: inFlight,
    cooldowns: cooldowns.map(({ model, untilAtMs }) => ({ model, until: isoTime(untilAtMs) })),
  }
}
