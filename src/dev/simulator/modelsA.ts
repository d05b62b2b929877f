import type { OrderA } from './order.ts'
import { textTokens } from './order.ts'

type Json = Readonly<Record<string, unknown>>

/** What one of the vendor's image models can do (Gemini API documentation, image generation). */
export type ModelProfile = {
  readonly ratios: readonly string[]
  /** The values of `imageSize` that the model accepts. When empty, the model rejects the field itself. */
  readonly tiers: readonly string[]
  /** True when the model thinks before it answers. Such a model reports thought tokens and signs its images. */
  readonly thinks: boolean
}

/**
 * The pixels of the 1K tier by ratio, as the vendor documents them. The sizes of the other tiers are
 * multiples of these.
 */
const pixels1K: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '1:4': [512, 2048],
  '1:8': [384, 3072],
  '2:3': [848, 1264],
  '3:2': [1264, 848],
  '3:4': [896, 1200],
  '4:1': [2048, 512],
  '4:3': [1200, 896],
  '4:5': [928, 1152],
  '5:4': [1152, 928],
  '8:1': [3072, 384],
  '9:16': [768, 1376],
  '16:9': [1376, 768],
  '21:9': [1584, 672],
}

const tierFactors: Readonly<Record<string, number>> = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 }

const allRatios = Object.keys(pixels1K)
const commonRatios = allRatios.filter((ratio) => !['1:4', '4:1', '1:8', '8:1'].includes(ratio))

const pro3: ModelProfile = { ratios: commonRatios, tiers: ['1K', '2K', '4K'], thinks: true }

/** The profiles, by a part of the model's name. So both `familya-…` and the vendor's own names match. */
const profiles: Readonly<Record<string, ModelProfile>> = {
  '2.5-flash-image': { ratios: commonRatios, tiers: [], thinks: false },
  '3.1-flash-lite-image': { ratios: allRatios, tiers: ['1K'], thinks: false },
  '3.1-flash-image': { ratios: allRatios, tiers: ['512', '1K', '2K', '4K'], thinks: true },
}

/** Returns the profile of a model. A name that matches no profile gets that of the pro model. */
export function profileOf(model: string): ModelProfile {
  return Object.entries(profiles).find(([part]) => model.includes(part))?.[1] ?? pro3
}

/** Returns the size of an image. Throws when the tier or the ratio is not in the tables above. */
export function sizeOfTier(tier: string, ratio: string) {
  const pixels = pixels1K[ratio]
  const factor = tierFactors[tier]
  if (pixels === undefined || factor === undefined) {
    throw new Error(`Bug: no pixel size for ${tier} ${ratio}`)
  }
  return { width: pixels[0] * factor, height: pixels[1] * factor }
}

const thoughtsTokenCount = 180
const answerTextTokens = 6
/** The vendor counts about as many for an image of any size, sent or made. */
const imageTokens = 1120

/**
 * Returns the tokens of the request and of a candidate with so many images. `undefined`: there is no
 * candidate.
 */
export function usageOf(order: OrderA, imageCount: number | undefined): Json {
  const { thinks } = profileOf(order.model)
  const asked = { TEXT: textTokens(order.prompt), IMAGE: order.sources.length * imageTokens }
  const promptTokenCount = asked.TEXT + asked.IMAGE
  const promptTokensDetails = details(asked)
  if (imageCount === undefined) {
    return { promptTokenCount, totalTokenCount: promptTokenCount, promptTokensDetails }
  }
  const made = { TEXT: order.withText ? answerTextTokens : 0, IMAGE: imageCount * imageTokens }
  const candidatesTokenCount = made.TEXT + made.IMAGE
  return {
    promptTokenCount,
    candidatesTokenCount,
    totalTokenCount: promptTokenCount + candidatesTokenCount + (thinks ? thoughtsTokenCount : 0),
    promptTokensDetails,
    candidatesTokensDetails: details(made),
    ...(thinks ? { thoughtsTokenCount } : {}),
  }
}

function details(counts: Readonly<Record<string, number>>): Json[] {
  return Object.entries(counts)
    .filter(([, tokenCount]) => tokenCount > 0)
    .map(([modality, tokenCount]) => ({ modality, tokenCount }))
}
