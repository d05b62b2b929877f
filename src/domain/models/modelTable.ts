import type { Capabilities, CapabilityOverride } from './capabilities.ts'
import { builtInCapabilities, overrideCapabilities } from './capabilities.ts'
import { familyRules } from './familyRules.ts'
import type {
  Action,
  AspectRatio,
  ContractModel,
  Family,
  ImageSize,
  ModelId,
  Quality,
} from './models.ts'
import { actions, contractModels, families, modelsOf } from './models.ts'
import type { Price } from './prices.ts'
import { builtInPrices } from './prices.ts'

/** All that a process knows of one model. */
export type Model = Capabilities & {
  readonly id: ModelId
  readonly family: Family
  /** The accepted values of `quality`. None: it has no effect. */
  readonly qualities: readonly Quality[]
  readonly actions: readonly Action[]
  /** Its own lines, the operator's first. For each request that the model takes, at least one applies. */
  readonly prices: readonly Price[]
  /** It takes no new tasks. */
  readonly retired: boolean
}

/**
 * The models of a process by their public names. It is made once, at the start. A row of PostgreSQL may name a model that
 * it does not have.
 */
export type ModelTable = ReadonlyMap<ModelId, Model>

/** A model of the operator. What it does not say is as with the contract's model `like`, except for prices. */
type GivenModel = {
  readonly name: ModelId
  readonly like: ContractModel
  readonly sizes?: readonly ImageSize[] | undefined
  readonly aspect_ratios?: readonly AspectRatio[] | undefined
  readonly qualities?: readonly Quality[] | undefined
  readonly actions?: readonly Action[] | undefined
  readonly retired?: boolean | undefined
}

/** What the operator's file says of models. */
export type GivenModels = {
  readonly models?: readonly GivenModel[]
  readonly prices?: readonly Price[]
  readonly capabilities?: Readonly<Record<ModelId, CapabilityOverride | undefined>>
}

/** Makes the table of the contract's models and the operator's. */
export function createModelTable(given: GivenModels = {}): ModelTable {
  const contract = contractModels.map((like): GivenModel => ({ name: like, like }))
  const models = [...contract, ...(given.models ?? [])].map((each) => modelOf(each, given))
  return new Map(models.map((model) => [model.id, model]))
}

function modelOf(
  { name, like, sizes, aspect_ratios: aspectRatios, retired = false, ...own }: GivenModel,
  { prices = [], capabilities = {} }: GivenModels,
): Model {
  const family = familyOf(like)
  const usual = overrideCapabilities(builtInCapabilities[like], { sizes, aspectRatios })
  return {
    id: name,
    family,
    qualities: own.qualities ?? familyRules[family].qualities,
    actions: own.actions ?? actions,
    prices: [...prices, ...builtInPrices].filter(({ model }) => model === name),
    retired,
    ...overrideCapabilities(usual, capabilities[name] ?? {}),
  }
}

function familyOf(model: ContractModel): Family {
  const family = families.find((each) => modelsOf[each].some((id) => id === model))
  if (family === undefined) throw new Error(`Bug: no family has the model ${model}`)
  return family
}

/** Returns the models that take new tasks, all or those of one family. */
export function offeredModels(models: ModelTable, family?: Family): readonly Model[] {
  return [...models.values()].filter(
    (each) => !each.retired && (family === undefined || each.family === family),
  )
}

/** The usual duration of a call of a model that this process does not know. */
const unknownDurationMs = 30_000

/** Returns the usual duration of one call of a model, for `progress`. */
export function usualDurationMs(models: ModelTable, model: ModelId): number {
  return models.get(model)?.usualDurationMs ?? unknownDurationMs
}
