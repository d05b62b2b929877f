export type PixelSize = { readonly width: number; readonly height: number }

/** Pixels of the 1K tier by ratio, as the vendor documents them; other tiers are multiples. */
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

/** Both arguments must be names of the tables above; anything else is a bug of the caller. */
export function sizeOfTier(tier: string, ratio: string): PixelSize {
  const pixels = pixels1K[ratio]
  const factor = tierFactors[tier]
  if (pixels === undefined || factor === undefined) {
    throw new Error(`Bug: no pixel size for ${tier} ${ratio}`)
  }
  return { width: pixels[0] * factor, height: pixels[1] * factor }
}

/** An edit without a ratio keeps the shape of its first source image, as nearly as the model can. */
export function nearestRatio(size: PixelSize, ratios: readonly string[]): string {
  const wanted = Math.log(size.width / size.height)
  const distance = (ratio: string): number => {
    const { width, height } = sizeOfTier('1K', ratio)
    return Math.abs(Math.log(width / height) - wanted)
  }
  return ratios.toSorted((a, b) => distance(a) - distance(b))[0] ?? '1:1'
}

const sideMultiple = 16
const sideMax = 3840
const sideRatioMax = 3
const pixelsMin = 655_360
const pixelsMax = 8_294_400

/** Family B's rules for `WIDTHxHEIGHT`: research/wire.md section 2, sizes. Null: not a size. */
export function parsePixelSize(text: string): PixelSize | null {
  const match = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(text)
  if (match === null) return null
  const [width, height] = [Number(match[1]), Number(match[2])]
  const pixels = width * height
  const ratio = Math.max(width, height) / Math.min(width, height)
  const sides = [width, height].every((side) => side % sideMultiple === 0 && side <= sideMax)
  const fits = sides && ratio <= sideRatioMax && pixels >= pixelsMin && pixels <= pixelsMax
  return fits ? { width, height } : null
}
