import type { Action, Family, ModelId } from '../models/models.ts'
import { byFamily, isContractModel } from '../models/models.ts'

/** One upstream account, from the operator's file. */
export type Channel = {
  readonly name: string
  readonly family: Family
  /** The URL of the upstream's API, without a trailing slash. */
  readonly baseUrl: string
  /** The credential itself. Empty with `apiKeyFile`. May be empty in a process that does not call upstream. */
  readonly apiKey: string
  /** The file that contains the credential. It is read again for each call. */
  readonly apiKeyFile?: string
  /** The header that carries the credential. Default: that of the family. */
  readonly apiKeyHeader?: string
  /** The text before the credential. Default: `Bearer ` in the header Authorization, else empty. */
  readonly apiKeyPrefix?: string
  /** Parameters for the query of each call. */
  readonly query?: Readonly<Record<string, string>>
  /** Fixed headers of each call. */
  readonly headers?: Readonly<Record<string, string>>
  /** Fixed fields that are added to the JSON or the form of each request. */
  readonly extraFields?: Readonly<Record<string, string | number | boolean>>
  /** Whether each call tells the vendor a stable digest of the account (family B). */
  readonly safetyIdentifier?: boolean
  readonly paths?: ChannelPaths
  /**
   * The names of models at this upstream. A model of the contract without an entry keeps its public name, and one of the
   * operator without an entry is not called here.
   */
  readonly models: Readonly<Record<ModelId, string>>
  /** Limit for one call, from opening the connection to the last byte. */
  readonly timeoutMs: number
  /** The number of places: how many calls all workers together may have under way on this channel. */
  readonly concurrencyMax: number
  /**
   * The vendor does no work, and charges nothing, when it answers a 5xx itself. So its outcome is known.
   */
  readonly errorsAreFree?: boolean
  /** The share of the calls among the free channels of the family. Set on all channels of a family or on none. */
  readonly weight?: number
}

/** Returns the channels of one family, in the operator's order. */
export function channelsOf(channels: readonly Channel[], family: Family): readonly Channel[] {
  return channels.filter((channel) => channel.family === family)
}

/** What a channel is chosen for. */
export type Served = { readonly family: Family; readonly model: ModelId }

/** Returns the channels that take a model, in the operator's order. */
export function channelsFor(
  channels: readonly Channel[],
  { family, model }: Served,
): readonly Channel[] {
  const ofFamily = channelsOf(channels, family)
  if (isContractModel(model)) return ofFamily
  return ofFamily.filter((channel) => Object.hasOwn(channel.models, model))
}

/**
 * Returns whether a process that has these channels for a model leaves its tasks to others: only an operator's file names
 * it, and that of this process does not, or no more.
 */
export function isLeftToOthers(model: ModelId, channels: readonly unknown[]): boolean {
  return channels.length === 0 && !isContractModel(model)
}

/** Returns the longest timeout of these channels in milliseconds, or 0 when there is no channel. */
export function longestTimeoutMs(channels: readonly Channel[]): number {
  return Math.max(0, ...channels.map(({ timeoutMs }) => timeoutMs))
}

/** Returns the name that this channel's upstream uses for the model. */
export function upstreamModelName(channel: Channel, model: ModelId): string {
  return channel.models[model] ?? model
}

/**
 * The paths after the base URL of a channel, each with a default for its family. The name of the model
 * replaces `{model}`. `check` is a call with GET that costs nothing, for `darkroom channel check`.
 */
export type ChannelPaths = Readonly<Partial<Record<Action | 'check', string>>>

/** A credential may contain only characters that an HTTP header can carry. */
const headerText = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Returns the credential that a text contains, without the white space around it. Returns `undefined` when the
 * text is empty or an HTTP header cannot carry it. With such a credential every call would fail before it is
 * sent, and it would look as if the upstream were unreachable.
 */
export function credentialIn(text: string): string | undefined {
  const credential = text.trim()
  return headerText.test(credential) ? credential : undefined
}

/** For each family, how many upstream calls may run at once: the sum of its channels' `concurrencyMax`. */
export function slotsOf(channels: readonly Channel[]): Readonly<Record<Family, number>> {
  return byFamily((family) =>
    channelsOf(channels, family).reduce((places, { concurrencyMax }) => places + concurrencyMax, 0),
  )
}

/**
 * What a call that costs nothing shows about a channel. `accepted`: the vendor took the credential. `refused`:
 * it did not. `not_checked`: the vendor was reached and has no such call. `unclear`: any other answer.
 * `unreachable`: there was no answer. `no_credential`: nothing was sent, because there is no credential here.
 */
export const channelCheckResults = [
  'accepted',
  'refused',
  'not_checked',
  'unclear',
  'unreachable',
  'no_credential',
] as const

/** Why an operator has paused a channel, for colleagues. PostgreSQL has no text with NUL. */
export const pauseReasonPattern = /^(?=[\s\S]*\S)[^\0]{1,300}$/
export const pauseReasonForm = 'a text of 1 to 300 characters'
export const pauseReasonDefault = 'paused by the operator'
