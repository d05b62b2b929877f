import { z } from 'zod'
import type { Fault } from './channelSettings.ts'
import { channelFaults, channelSettings } from './channelSettings.ts'
import type { ImageSize, ModelId } from '../domain/models/models.ts'
import {
  actions,
  aspectRatios,
  imageSizes,
  modelIds,
  qualities,
  thinkingLevels,
} from '../domain/models/models.ts'
import { rulesOf } from '../domain/models/familyRules.ts'

const credits = z.int().min(0).max(1_000_000_000)

const price = z.strictObject({
  model: z.enum(modelIds),
  size: z.enum(imageSizes).optional(),
  quality: z.enum(qualities).optional(),
  action: z.enum(actions).optional(),
  credits,
  creditsPerInputImage: credits.default(0),
})

const capabilities = z.strictObject({
  sizes: z.array(z.enum(imageSizes)).optional(),
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
  capabilities: z.partialRecord(z.enum(modelIds), capabilities).default({}),
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
  for (const [index, { model, size }] of file.prices.entries()) {
    if (size !== undefined) yield* foreignSizes(['prices', index, 'size'], model, [size])
  }
  for (const model of modelIds) {
    const given = file.capabilities[model] ?? {}
    const { sizes = [], aspectRatios: ratios = [], thinkingLevels: levels = [] } = given
    yield* foreignSizes(['capabilities', model, 'sizes'], model, sizes)
    const rules = rulesOf(model)
    if (rules.aspectRatios.length === 0 && ratios.length > 0) {
      yield [['capabilities', model, 'aspectRatios'], 'models of this family take none']
    }
    if (rules.thinkingLevels.length === 0 && levels.length > 0) {
      yield [['capabilities', model, 'thinkingLevels'], 'models of this family take none']
    }
  }
}

function* foreignSizes(
  path: Fault[0],
  model: ModelId,
  sizes: readonly ImageSize[],
): Generator<Fault> {
  const known = rulesOf(model).sizes
  if (sizes.some((size) => !known.includes(size))) {
    yield [path, `models of this family take ${known.join(', ')}`]
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
