/** What the vendor's family A models can do: research/wire.md section 1, Models. */
export type ModelProfileA = {
  readonly ratios: readonly string[]
  /** Accepted `imageSize` values; empty: the field itself is refused. */
  readonly tiers: readonly string[]
  readonly inputImagesMax: number
  /** Output tokens of one image, by tier. */
  readonly imageTokens: Readonly<Record<string, number>>
  readonly inputImageTokens: number
  readonly thinks: boolean
}

const commonRatios = [
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '21:9',
] as const
const extremeRatios = ['1:4', '4:1', '1:8', '8:1'] as const

const flash25: ModelProfileA = {
  ratios: commonRatios,
  tiers: [],
  inputImagesMax: 3,
  imageTokens: { '1K': 1290 },
  inputImageTokens: 258,
  thinks: false,
}

const flashLite31: ModelProfileA = {
  ratios: [...commonRatios, ...extremeRatios],
  tiers: ['1K'],
  inputImagesMax: 14,
  imageTokens: { '1K': 1120 },
  inputImageTokens: 1120,
  thinks: false,
}

const flash31: ModelProfileA = {
  ratios: [...commonRatios, ...extremeRatios],
  tiers: ['512', '1K', '2K', '4K'],
  inputImagesMax: 14,
  imageTokens: { '512': 747, '1K': 1120, '2K': 1680, '4K': 2520 },
  inputImageTokens: 1120,
  thinks: true,
}

const pro3: ModelProfileA = {
  ratios: commonRatios,
  tiers: ['1K', '2K', '4K'],
  inputImagesMax: 14,
  imageTokens: { '1K': 1120, '2K': 1120, '4K': 2000 },
  inputImageTokens: 1120,
  thinks: true,
}

/** By what the name contains, so that `familya-…` and a vendor's own name both fit. */
const profiles: readonly (readonly [string, ModelProfileA])[] = [
  ['2.5-flash-image', flash25],
  ['3.1-flash-lite-image', flashLite31],
  ['3.1-flash-image', flash31],
  ['3-pro-image', pro3],
]

/** A name that fits none can do what the pro model can: channels may map to any name. */
export function profileOf(model: string): ModelProfileA {
  return profiles.find(([part]) => model.includes(part))?.[1] ?? pro3
}
