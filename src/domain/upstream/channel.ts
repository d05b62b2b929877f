import type { Family, ModelId } from '../models/models.ts'

/** One upstream account, from the operator's file. */
export type Channel = {
  readonly name: string
  readonly family: Family
  /** The URL of the upstream's API, without a trailing slash. */
  readonly baseUrl: string
  /** The credential itself, not the name of the environment variable that contains it. */
  readonly apiKey: string
  /** The names of models at this upstream. A model without an entry keeps its public name. */
  readonly models: Readonly<Partial<Record<ModelId, string>>>
  /** Limit for one call, from opening the connection to the last byte. */
  readonly timeoutMs: number
  /** The number of places: how many calls all workers together may have under way on this channel. */
  readonly concurrencyMax: number
}

/** Returns the name that this channel's upstream uses for the model. */
export function upstreamModelName(channel: Channel, model: ModelId): string {
  return channel.models[model] ?? model
}
