import type { Capabilities, CapabilityOverride } from './capabilities.ts'
import { builtInCapabilities, overrideCapabilities } from './capabilities.ts'
import { familyRules } from './familyRules.ts'
import type { Action, Family, ModelId, Quality } from './models.ts'
import { actions, families, modelsOf } from './models.ts'
import type { Price } from './prices.ts'
import { builtInPrices } from './prices.ts'

/** All that a process knows of one model. */
export type Model = Capabilities & {
  readonly id: ModelId
  readonly family: Family
  /** The accepted values of `quality`. None: it has no effect. */
  readonly qualities: readonly Quality[]
  readonly actions: readonly Action[]
  /** Its own lines, the operator's first. One applies to every request that the model takes. */
  readonly prices: readonly Price[]
}

/**
 * The models of a process by their public names. It is made once, at the start. A row of PostgreSQL may name a model that
 * it does not have.
 */
export type ModelTable = ReadonlyMap<ModelId, Model>

/** What the operator's file says of models. */
export type GivenModels = {
  readonly prices?: readonly Price[]
  readonly capabilities?: Readonly<Record<ModelId, CapabilityOverride | undefined>>
}

/** Makes the table of the contract's models, with the operator's prices and capabilities. */
export function createModelTable({ prices = [], capabilities = {} }: GivenModels = {}): ModelTable {
  const lines = [...prices, ...builtInPrices]
  const models = families.flatMap((family) =>
    modelsOf[family].map((id): Model => ({
      id,
      family,
      qualities: familyRules[family].qualities,
      actions,
      prices: lines.filter(({ model }) => model === id),
      ...overrideCapabilities(builtInCapabilities[id], capabilities[id] ?? {}),
    })),
  )
  return new Map(models.map((model) => [model.id, model]))
}

/** The usual duration of a call of a model that this process does not know. */
const unknownDurationMs = 30_000

/** Returns the usual duration of one call of a model, for `progress`. */
export function usualDurationMs(models: ModelTable, model: ModelId): number {
  return models.get(model)?.usualDurationMs ?? unknownDurationMs
}
