import type { Family, ModelId } from './models.ts'

/** One upstream account, from the operator's file. */
export type Channel = {
  readonly name: string
  readonly family: Family
  /** Without trailing slash. */
  readonly baseUrl: string
  /** The credential itself, not the name of a variable. */
  readonly apiKey: string
  /** The upstream's names of models. A model without an entry keeps its public name. */
  readonly models: Readonly<Partial<Record<ModelId, string>>>
  /** Longest time of one call, from the connection to the last byte. */
  readonly timeoutMs: number
  /** The places of the channel: calls at the same time, by all workers together. */
  readonly concurrencyMax: number
}

/** The name by which this channel's upstream knows the model. */
export function upstreamModelName(channel: Channel, model: ModelId): string {
  return channel.models[model] ?? model
}
