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

export const ratios = Object.keys(pixels1K)
/** The values of `imageSize`. */
export const tiers = Object.keys(tierFactors)

/** Returns the size of an image. Throws when the tier or the ratio is not in the tables above. */
export function sizeOfTier(tier: string, ratio: string) {
  const pixels = pixels1K[ratio]
  const factor = tierFactors[tier]
  if (pixels === undefined || factor === undefined) {
    throw new Error(`Bug: no pixel size for ${tier} ${ratio}`)
  }
  return { width: pixels[0] * factor, height: pixels[1] * factor }
}
