import { defined } from '../defined.ts'
import { familyRules } from './familyRules.ts'
import type { Model } from './modelTable.ts'
import type { ImageSize } from './models.ts'
import type { Price } from './prices.ts'
import { lineOf } from './prices.ts'

/**
 * Returns the prices of a model for clients. A client takes the first entry that matches its request: an entry
 * without a field matches any value of it, and an entry with a field does not match a request without it. This
 * always yields what `creditsOf` would hold. Lines that no request can reach are left out.
 */
export function shownPrices(model: Model): readonly Price[] {
  const { prices, sizes, family } = model
  const { defaultSize } = familyRules[family]
  const isNamed = prices.some(({ size }) => size !== undefined && size === defaultSize)
  const shown = isNamed ? withoutDefaultSize(prices, sizes, defaultSize) : prices
  const reached = new Set(
    requestsOf(model).map((request) => lineOf({ family, prices: shown }, request)),
  )
  return shown.filter((line) => reached.has(line))
}

/**
 * Returns lines that charge the same as the given ones, but none of them names `defaultSize`: a client would not find
 * such a line for a request without a size. The lines of the other sizes come first, each with its size. So the lines
 * without a size, which follow, apply only to requests for `defaultSize` and to requests without a size.
 */
function withoutDefaultSize(
  lines: readonly Price[],
  sizes: readonly ImageSize[],
  defaultSize: ImageSize | undefined,
): readonly Price[] {
  const others = sizes.filter((size) => size !== defaultSize)
  return [
    ...lines.flatMap((line) => {
      const applies = others.filter((size) => line.size === undefined || line.size === size)
      return applies.map((size) => ({ ...line, size }))
    }),
    ...lines
      .filter(({ size }) => size === undefined || size === defaultSize)
      .map(({ size: _default, ...line }) => line),
  ]
}

/** Returns one request for each combination of the fields by which the line of a request is chosen. */
export function requestsOf({
  sizes,
  qualities,
  actions,
}: Pick<Model, 'sizes' | 'qualities' | 'actions'>) {
  return [undefined, ...sizes].flatMap((size) =>
    [undefined, ...qualities].flatMap((quality) =>
      actions.map((action) => ({ action, ...defined({ size, quality }) })),
    ),
  )
}
