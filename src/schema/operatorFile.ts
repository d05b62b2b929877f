import { z } from 'zod'
import type { Fault } from './channelSettings.ts'
import { channelFaults, channelSettings } from './channelSettings.ts'
import { familyRules } from '../domain/models/familyRules.ts'
import { createModelTable } from '../domain/models/modelTable.ts'
import type { Family, ImageSize } from '../domain/models/models.ts'
import {
  actions,
  allQualities,
  aspectRatios,
  contractModels,
  thinkingLevels,
} from '../domain/models/models.ts'

const credits = z.int().min(0).max(1_000_000_000)

const price = z.strictObject({
  model: z.enum(contractModels),
  size: z.string().optional(),
  quality: z.enum(allQualities).optional(),
  action: z.enum(actions).optional(),
  credits,
  creditsPerInputImage: credits.default(0),
})

const capabilities = z.strictObject({
  sizes: z.array(z.string()).optional(),
  /** Whether the size is sent upstream. Default: the built-in value, or true when `sizes` adds a size. */
  sizeIsSent: z.boolean().optional(),
  aspectRatios: z.array(z.enum(aspectRatios)).optional(),
  /** An empty list says that the model takes no `thinkingConfig`. */
  thinkingLevels: z.array(z.enum(thinkingLevels)).optional(),
  usualDurationMs: z.int().min(1).max(3_600_000).optional(),
})

const fields = z.strictObject({
  channels: z.array(channelSettings).min(1).max(100),
  prices: z.array(price).max(1000).default([]),
  capabilities: z.partialRecord(z.enum(contractModels), capabilities).default({}),
})

/**
 * Yields mistakes that one field alone does not show, such as two channels with the same name, a channel without a
 * credential, or a size that no request for the model can have.
 */
function* faultsAcross(file: z.infer<typeof fields>): Generator<Fault> {
  const seen = new Set<string>()
  for (const [index, channel] of file.channels.entries()) {
    if (seen.has(channel.name)) yield [['channels', index, 'name'], 'is used twice']
    seen.add(channel.name)
    yield* channelFaults(index, channel)
  }
  const models = createModelTable(file)
  for (const [index, { model, size }] of file.prices.entries()) {
    const family = models.get(model)?.family
    if (size !== undefined) yield* foreignSizes(['prices', index, 'size'], family, [size])
  }
  for (const [id, given] of Object.entries(file.capabilities)) {
    const model = models.get(id)
    if (model === undefined || given === undefined) continue
    const { sizes = [], aspectRatios: ratios = [], thinkingLevels: levels = [] } = given
    yield* foreignSizes(['capabilities', id, 'sizes'], model.family, sizes)
    const rules = familyRules[model.family]
    if (rules.aspectRatios.length === 0 && ratios.length > 0) {
      yield [['capabilities', id, 'aspectRatios'], 'models of this family take none']
    }
    if (rules.thinkingLevels.length === 0 && levels.length > 0) {
      yield [['capabilities', id, 'thinkingLevels'], 'models of this family take none']
    }
    if (!model.sizeIsSent && model.sizes.length > 1) {
      yield [['capabilities', id, 'sizeIsSent'], 'must be true for a choice of sizes']
    }
  }
}

function* foreignSizes(
  path: Fault[0],
  family: Family | undefined,
  sizes: readonly ImageSize[],
): Generator<Fault> {
  const rules = family && familyRules[family]
  if (rules !== undefined && !sizes.every((size) => rules.sizeForm.test(size))) {
    yield [path, `models of this family take ${rules.sizeFormText}`]
  }
}

/**
 * The schema of the operator's file: channels, prices and capabilities. A file with an unknown field is
 * invalid.
 */
export const operatorFile = fields.superRefine((file, context) => {
  for (const [path, message] of faultsAcross(file)) {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
})

export type OperatorFile = z.infer<typeof operatorFile>
