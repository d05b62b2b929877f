import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ChannelJson } from '../store/channels/channelAdmin.ts'
import * as store from '../store/channels/channelAdmin.ts'
import type { ChannelCheck } from '../upstream/checkChannel.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { check } from '../schema/operators/channels.ts'
import { audited } from './audit.ts'
import type { List, OperationDeps, OperationFailure } from './operation.ts'
import { listOf } from './operation.ts'

type ChannelResult = Promise<Result<ChannelJson, OperationFailure>>

/** Lists the channels that any worker has had, by name. */
export async function listChannels({ pool }: OperationDeps): Promise<List<ChannelJson>> {
  return listOf(await store.listChannels(pool))
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

export type ChannelCheckJson = AnswerOf<typeof check>

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
  channel: ChannelJson | undefined,
  name: string,
): Result<ChannelJson, OperationFailure> {
  if (channel !== undefined) return succeed(channel)
  return fail({ kind: 'not_found', what: `channel named ${JSON.stringify(name)}` })
}
