import type { List } from '../domain/lists/list.ts'
import { succeed } from '../domain/result.ts'
import type { ChannelJson } from '../store/channels/channelAdmin.ts'
import * as store from '../store/channels/channelAdmin.ts'
import type { ChannelCheck } from '../upstream/checkChannel.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { check } from '../schema/operators/operatorChannels.ts'
import { audited } from './audit.ts'
import type { Page } from '../store/readPage.ts'
import type { Done, OperationDeps } from './operation.ts'
import { found, listed, missing } from './operation.ts'

/** Lists the channels that any worker has had, by name. */
export async function listChannels(
  { pool }: OperationDeps,
  page: Page = {},
): Done<List<ChannelJson>> {
  return listed(await store.listChannels(pool, page))
}

export type Pause = { readonly name: string; readonly reason: string }

/** Pauses a channel. One that is paused already keeps the time and the reason of its pause. */
export async function pauseChannel(
  deps: OperationDeps,
  { name, reason }: Pause,
): Done<ChannelJson> {
  const change = { action: 'channel.pause', target: name, params: { reason } }
  return audited(deps, change, async (client) =>
    found(await store.pauseChannel(client, name, reason), channelNamed(name)),
  )
}

/** Ends the pause and the cooldowns of a channel. */
export async function resumeChannel(deps: OperationDeps, name: string): Done<ChannelJson> {
  return audited(deps, { action: 'channel.resume', target: name, params: {} }, async (client) =>
    found(await store.resumeChannel(client, name), channelNamed(name)),
  )
}

export type ChannelCheckJson = AnswerOf<typeof check>

export type CheckDeps = {
  /** Makes a free call on a channel of the operator's file. Returns `undefined` for a name that is not in it. */
  readonly checkChannel: (name: string) => Promise<ChannelCheck | undefined>
}

/** Makes one call on a channel that costs nothing. Changes nothing. */
export async function checkChannel(deps: CheckDeps, name: string): Done<ChannelCheckJson> {
  const checked = await deps.checkChannel(name)
  if (checked === undefined) {
    return missing(`${channelNamed(name)} in the operator's file (DARKROOM_CONFIG)`)
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

function channelNamed(name: string): string {
  return `channel named ${JSON.stringify(name)}`
}
