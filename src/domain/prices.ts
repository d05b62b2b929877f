import type { CapabilityTable } from './capabilities.ts'
import { defined } from './defined.ts'
import type { ImageRequest } from './imageRequest.ts'
import type { Action, ImageSize, ModelId, Quality } from './models.ts'
import { actions, familyOf, modelIds, qualities } from './models.ts'

/**
 * One line of a price list. It applies to requests of its model with the same size, quality and action; a
 * field that it does not have may be anything. Credits are whole numbers; zero is allowed.
 */
export type Price = {
  readonly model: ModelId
  readonly size?: ImageSize | undefined
  readonly quality?: Quality | undefined
  readonly action?: Action | undefined
  readonly credits: number
  readonly creditsPerInputImage: number
}

/** What a price depends on. */
type PricedRequest = Pick<ImageRequest, 'model' | 'size' | 'quality' | 'action'> & {
  readonly inputImages: number
}

/**
 * The price of a request: that of the first line that applies. `undefined` when there is none; the start of
 * a process rules that out with `unpricedCombinations`. Family A without a size makes 1K and costs the same.
 */
export function creditsOf(prices: readonly Price[], request: PricedRequest): number | undefined {
  const size = request.size ?? (familyOf(request.model) === 'A' ? '1K' : undefined)
  const price = prices.find(
    (line) =>
      line.model === request.model &&
      (line.size === undefined || line.size === size) &&
      (line.quality === undefined || line.quality === request.quality) &&
      (line.action === undefined || line.action === request.action),
  )
  return price && price.credits + price.creditsPerInputImage * request.inputImages
}

/** The operator's lines, then the built-in ones. */
export function priceList(operatorPrices: readonly Price[]): readonly Price[] {
  return [...operatorPrices, ...builtInPrices]
}

/** Requests that the capabilities allow and that have no price, as text for the operator. */
export function unpricedCombinations(
  prices: readonly Price[],
  capabilities: CapabilityTable,
): readonly string[] {
  return modelIds.flatMap((model) =>
    [undefined, ...capabilities[model].sizes].flatMap((size) =>
      [undefined, ...qualities].flatMap((quality) =>
        actions
          .filter((action) => {
            const request = { model, size, quality, action, inputImages: 0 }
            return creditsOf(prices, definedOnly(request)) === undefined
          })
          .map((action) => [model, size, quality, action].filter(Boolean).join(' ')),
      ),
    ),
  )
}

function definedOnly(request: {
  model: ModelId
  size: ImageSize | undefined
  quality: Quality | undefined
  action: Action
  inputImages: number
}): PricedRequest {
  const { size, quality, ...rest } = request
  return {
    ...rest,
    ...defined({ size, quality }),
  }
}

const vip = 'familyb-image-2-vip'
const web = 'familyb-image-2-web'
/**
 * In thousandths of a US dollar, close to the vendors' list prices. `auto` costs as much as `high`, because
 * the vendor may choose that.
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
