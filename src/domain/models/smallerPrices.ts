import type { Model } from './modelTable.ts'
import { pixelsOf } from './models.ts'
import type { Priced, PricedRequest } from './prices.ts'
import { creditsOf, pricedSize } from './prices.ts'

/** What a task costs when its image has fewer pixels than this: at most what the request holds. */
export type SmallerPrice = { readonly belowPixels: number; readonly credits: number }

/**
 * Returns what a request costs when its image is smaller than asked. The entries ascend, and the first one counts of
 * which the image has fewer than `belowPixels` pixels. When there is none, the image costs what the request holds.
 *
 * An image reaches a size with seven tenths of its pixels: one tier has images of different areas, because their sides
 * are rounded and their aspect ratios differ. An image that does not reach the size asked for costs as much as the largest
 * of the model's sizes that it reaches, and as the smallest size when it reaches none. Of sizes with as many pixels the
 * cheaper one counts, and nothing costs more than the hold.
 *
 * Empty when no image gives credits back. So it is for a request without a size of a family without a default size, because
 * the vendor then chooses the size.
 */
export function smallerPrices(
  model: Priced & Pick<Model, 'sizes'>,
  request: PricedRequest,
): readonly SmallerPrice[] {
  const asked = pricedSize(model, request.size)
  const hold = creditsOf(model, request)
  if (asked === undefined || hold === undefined) return []
  const askedPixels = pixelsOf(asked)
  const smaller = new Map<number, number>()
  for (const size of model.sizes) {
    const pixels = pixelsOf(size)
    const credits = creditsOf(model, { ...request, size }) ?? hold
    if (pixels < askedPixels) {
      smaller.set(pixels, Math.min(hold, credits, smaller.get(pixels) ?? hold))
    }
  }
  const steps = [...smaller].toSorted(([one], [other]) => one - other)
  const entries = steps.map(([, credits], at) => ({
    belowPixels: Math.ceil(((steps[at + 1]?.[0] ?? askedPixels) * 7) / 10),
    credits,
  }))
  return entries.slice(0, 1 + entries.findLastIndex(({ credits }) => credits < hold))
}
