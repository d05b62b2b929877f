import type { Family, ModelId } from './models.ts'

/** One upstream account, from the operator's file (design section 3). `apiKey` is already resolved. */
export type Channel = {
  readonly name: string
  readonly family: Family
  /** Without trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Public model name → upstream's name. A missing entry sends the public name. */
  readonly models: Readonly<Partial<Record<ModelId, string>>>
  /** Total time of one call, from connect to the last byte. */
  readonly timeoutMs: number
  readonly concurrencyMax: number
}

export function upstreamModelName(channel: Channel, model: ModelId): string {
  return channel.models[model] ?? model
}
