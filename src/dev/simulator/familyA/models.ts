import type { PixelSize } from '../imageOrder.ts'

/** What one of the vendor's image models can do (Gemini API documentation, image generation). */
export type ModelProfile = {
  readonly ratios: readonly string[]
  /** The values of `imageSize` that the model accepts. When empty, the model rejects the field itself. */
  readonly tiers: readonly string[]
  /** The output tokens of one image, by tier. */
  readonly imageTokens: Readonly<Record<string, number>>
  readonly inputImageTokens: number
  /**
   * True when the model thinks before it answers. Such a model reports thought tokens and signs its images.
   */
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
const extremeRatios = ['1:4', '4:1', '1:8', '8:1']
const commonRatios = allRatios.filter((ratio) => !extremeRatios.includes(ratio))

const pro3: ModelProfile = {
  ratios: commonRatios,
  tiers: ['1K', '2K', '4K'],
  imageTokens: { '1K': 1120, '2K': 1120, '4K': 2000 },
  inputImageTokens: 1120,
  thinks: true,
}

/** The profiles, by a part of the model's name. So both `familya-…` and the vendor's own names match. */
const profiles: readonly (readonly [string, ModelProfile])[] = [
  [
    '2.5-flash-image',
    {
      ratios: commonRatios,
      tiers: [],
      imageTokens: { '1K': 1290 },
      inputImageTokens: 258,
      thinks: false,
    },
  ],
  [
    '3.1-flash-lite-image',
    {
      ratios: allRatios,
      tiers: ['1K'],
      imageTokens: { '1K': 1120 },
      inputImageTokens: 1120,
      thinks: false,
    },
  ],
  [
    '3.1-flash-image',
    {
      ratios: allRatios,
      tiers: ['512', '1K', '2K', '4K'],
      imageTokens: { '512': 747, '1K': 1120, '2K': 1680, '4K': 2520 },
      inputImageTokens: 1120,
      thinks: true,
    },
  ],
]

/**
 * Returns the profile of a model. A channel may map a model to any name, so a name that matches no profile
 * gets the profile of the pro model.
 */
export function profileOf(model: string): ModelProfile {
  return profiles.find(([part]) => model.includes(part))?.[1] ?? pro3
}

/** Returns the size of an image. Throws when the tier or the ratio is not in the tables above. */
export function sizeOfTier(tier: string, ratio: string): PixelSize {
  const pixels = pixels1K[ratio]
  const factor = tierFactors[tier]
  if (pixels === undefined || factor === undefined) {
    throw new Error(`Bug: no pixel size for ${tier} ${ratio}`)
  }
  return { width: pixels[0] * factor, height: pixels[1] * factor }
}

/** Returns the ratio whose shape is nearest to the given size. */
export function nearestRatio(size: PixelSize, ratios: readonly string[]): string {
  const wanted = Math.log(size.width / size.height)
  const distance = (ratio: string): number => {
    const { width, height } = sizeOfTier('1K', ratio)
    return Math.abs(Math.log(width / height) - wanted)
  }
  return ratios.toSorted((a, b) => distance(a) - distance(b))[0] ?? '1:1'
}
