import type { Action, Family, ImageSize, ModelId, Quality } from './models.ts'
import { familyRules } from './familyRules.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'

/**
 * One line of a price list. It applies to requests for its model with the same size, quality and action. If
 * the line lacks one of these fields, that field of the request may have any value. Credits are whole
 * numbers. Zero is allowed.
 */
export type Price = {
  readonly model: ModelId
  readonly size?: ImageSize | undefined
  readonly quality?: Quality | undefined
  readonly action?: Action | undefined
  readonly credits: number
  readonly creditsPerInputImage: number
}

/** What has prices: a model, with its own lines alone. */
export type Priced = { readonly family: Family; readonly prices: readonly Price[] }

/** The fields of a request that decide its price. */
export type PricedRequest = Pick<ImageRequest, 'size' | 'quality' | 'action'> & {
  readonly inputImages: number
}

/**
 * Returns the price of a request: the price of the first line that applies. Returns `undefined` when no line applies. A
 * process does not start with a model that such a request can name.
 */
export function creditsOf(model: Priced, request: PricedRequest): number | undefined {
  const price = lineOf(model, request)
  return price && price.credits + price.creditsPerInputImage * request.inputImages
}

/**
 * Returns the size of a request that decides its price. A request without a size costs as much as the default size of
 * its family. Where there is none, the vendor chooses the size.
 */
export function pricedSize(
  { family }: Pick<Priced, 'family'>,
  size: ImageSize | undefined,
): ImageSize | undefined {
  return size ?? familyRules[family].defaultSize
}

/** Returns the first line that applies to a request. */
export function lineOf(
  model: Priced,
  request: Omit<PricedRequest, 'inputImages'>,
): Price | undefined {
  const size = pricedSize(model, request.size)
  return model.prices.find(
    (line) =>
      (line.size === undefined || line.size === size) &&
      (line.quality === undefined || line.quality === request.quality) &&
      (line.action === undefined || line.action === request.action),
  )
}

const vip = 'familyb-image-2-vip'
const web = 'familyb-image-2-web'
/**
 * The built-in prices, in thousandths of a US dollar. They are close to the vendors' list prices. `auto`
 * costs as much as `high`, because the vendor may choose high quality.
 */
export const builtInPrices: readonly Price[] = [
  { model: 'familya-2.5-flash-image', credits: 39, creditsPerInputImage: 1 },
  { model: 'familya-3.1-flash-lite-image', credits: 20, creditsPerInputImage: 1 },
  { model: 'familya-3.1-flash-image', size: '4K', credits: 151, creditsPerInputImage: 1 },
  { model: 'familya-3.1-flash-image', size: '2K', credits: 101, creditsPerInputImage: 1 },
  { model: 'familya-3.1-flash-image', credits: 67, creditsPerInputImage: 1 },
  { model: 'familya-3-pro-image', size: '4K', credits: 240, creditsPerInputImage: 1 },
  { model: 'familya-3-pro-image', credits: 134, creditsPerInputImage: 1 },
  { model: web, size: '3840x2160', credits: 90, creditsPerInputImage: 4 },
  { model: web, size: '2048x2048', credits: 60, creditsPerInputImage: 4 },
  { model: web, credits: 40, creditsPerInputImage: 4 },
  { model: vip, size: '3840x2160', quality: 'low', credits: 12, creditsPerInputImage: 8 },
  { model: vip, size: '3840x2160', quality: 'medium', credits: 101, creditsPerInputImage: 8 },
  { model: vip, size: '3840x2160', credits: 401, creditsPerInputImage: 8 },
  { model: vip, size: '2048x2048', quality: 'low', credits: 12, creditsPerInputImage: 8 },
  { model: vip, size: '2048x2048', quality: 'medium', credits: 108, creditsPerInputImage: 8 },
  { model: vip, size: '2048x2048', credits: 429, creditsPerInputImage: 8 },
  { model: vip, quality: 'low', credits: 6, creditsPerInputImage: 8 },
  { model: vip, quality: 'medium', credits: 53, creditsPerInputImage: 8 },
  { model: vip, credits: 211, creditsPerInputImage: 8 },
]
