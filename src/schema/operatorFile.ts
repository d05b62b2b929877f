import { z } from 'zod'
import type { Fault } from './channelSettings.ts'
import { channelFaults, channelSettings } from './channelSettings.ts'
import { familyRules } from '../domain/models/familyRules.ts'
import type { Model } from '../domain/models/modelTable.ts'
import { createModelTable } from '../domain/models/modelTable.ts'
import { lineOf } from '../domain/models/prices.ts'
import { requestsOf } from '../domain/models/shownPrices.ts'
import type { Family, ImageSize } from '../domain/models/models.ts'
import {
  actions,
  allQualities,
  aspectRatioForm,
  contractModels,
  isContractModel,
  modelForm,
  modelFormText,
  thinkingLevels,
} from '../domain/models/models.ts'

const credits = z.int().min(0).max(1_000_000_000)

const modelName = z.string().regex(modelForm, { error: modelFormText, abort: true })
const sizes = z.array(z.string()).max(50)
const ratios = z.array(z.string().regex(aspectRatioForm, 'such as 16:9')).max(50)

/** A public name beside the contract's. What it does not say is as with the contract's model `like`. */
const model = z.strictObject({
  name: modelName,
  like: z.enum(contractModels),
  sizes: sizes.min(1).optional(),
  aspect_ratios: ratios.optional(),
  qualities: z.array(z.enum(allQualities)).min(1).optional(),
  actions: z.array(z.enum(actions)).min(1).optional(),
  /** Whether it takes no new tasks. */
  retired: z.boolean().optional(),
})

const price = z.strictObject({
  model: modelName,
  size: z.string().optional(),
  quality: z.enum(allQualities).optional(),
  action: z.enum(actions).optional(),
  credits,
  creditsPerInputImage: credits.default(0),
})

const capabilities = z.strictObject({
  sizes: sizes.optional(),
  /** Whether the size is sent upstream. Default: the built-in value, or true when `sizes` adds a size. */
  sizeIsSent: z.boolean().optional(),
  aspectRatios: ratios.optional(),
  /** An empty list says that the model takes no `thinkingConfig`. */
  thinkingLevels: z.array(z.enum(thinkingLevels)).optional(),
  usualDurationMs: z.int().min(1).max(3_600_000).optional(),
})

const fields = z.strictObject({
  channels: z.array(channelSettings).min(1).max(100),
  models: z.array(model).max(100).default([]),
  prices: z.array(price).max(1000).default([]),
  capabilities: z.record(modelName, capabilities).default({}),
})

type Path = Fault[0]

/**
 * Yields mistakes that one field alone does not show, such as two channels with the same name, a channel without a
 * credential, or a model without a price.
 */
function* faultsAcross(file: z.infer<typeof fields>): Generator<Fault> {
  const models = createModelTable(file)
  const seen = new Set<string>()
  for (const [index, channel] of file.channels.entries()) {
    if (seen.has(channel.name)) yield [['channels', index, 'name'], 'is used twice']
    seen.add(channel.name)
    yield* channelFaults(index, channel, models)
  }
  for (const [index, given] of file.models.entries()) {
    const { name } = given
    const path = ['models', index]
    if (isContractModel(name)) yield [[...path, 'name'], 'is a model of the API contract']
    else if (file.models.findIndex((other) => other.name === name) < index) {
      yield [[...path, 'name'], 'is used twice']
    } else yield* modelFaults(path, given, models.get(name))
  }
  for (const [index, { model, size }] of file.prices.entries()) {
    const family = models.get(model)?.family
    if (size !== undefined) yield* foreignSizes(['prices', index, 'size'], family, [size])
  }
  for (const [id, given] of Object.entries(file.capabilities)) {
    const path = ['capabilities', id]
    const model = models.get(id)
    if (model === undefined) yield [path, 'is no model']
    else yield* capabilityFaults(path, given, model)
  }
}

function* modelFaults(
  path: Path,
  given: z.infer<typeof model>,
  known: Model | undefined,
): Generator<Fault> {
  if (known === undefined) return
  const { family } = known
  yield* foreignSizes([...path, 'sizes'], family, given.sizes ?? [])
  const rules = familyRules[family]
  for (const [field, taken] of [
    ['aspect_ratios', rules.aspectRatios],
    ['qualities', rules.qualities],
  ] as const) {
    if (taken.length === 0 && (given[field] ?? []).length > 0) yield [[...path, field], takesNone]
  }
  const free = requestsOf(known).find((request) => lineOf(known, request) === undefined)
  if (free !== undefined) {
    const text = Object.values(free).join(', ')
    yield [path, `no line of prices applies to a request of ${given.name} for ${text}`]
  }
}

function* capabilityFaults(
  path: Path,
  given: z.infer<typeof capabilities>,
  model: Model,
): Generator<Fault> {
  const { sizes = [], aspectRatios = [], thinkingLevels: levels = [] } = given
  yield* foreignSizes([...path, 'sizes'], model.family, sizes)
  const rules = familyRules[model.family]
  if (rules.aspectRatios.length === 0 && aspectRatios.length > 0) {
    yield [[...path, 'aspectRatios'], takesNone]
  }
  if (rules.thinkingLevels.length === 0 && levels.length > 0) {
    yield [[...path, 'thinkingLevels'], takesNone]
  }
  if (!model.sizeIsSent && model.sizes.length > 1) {
    yield [[...path, 'sizeIsSent'], 'must be true for a choice of sizes']
  }
}

const takesNone = 'models of this family take none'

function* foreignSizes(
  path: Path,
  family: Family | undefined,
  sizes: readonly ImageSize[],
): Generator<Fault> {
  const rules = family && familyRules[family]
  if (rules !== undefined && !sizes.every((size) => rules.sizeForm.test(size))) {
    yield [path, `models of this family take ${rules.sizeFormText}`]
  }
}

/**
 * The schema of the operator's file: channels, models, prices and capabilities. A file with an unknown field is
 * invalid.
 */
export const operatorFile = fields.superRefine((file, context) => {
  for (const [path, message] of faultsAcross(file)) {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
})

export type OperatorFile = z.infer<typeof operatorFile>
