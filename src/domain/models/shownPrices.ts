import type { Capabilities } from './capabilities.ts'
import { defined } from '../defined.ts'
import type { ImageSize, ModelId } from './models.ts'
import { actions } from './models.ts'
import { rulesOf } from './familyRules.ts'
import type { Price } from './prices.ts'
import { lineOf } from './prices.ts'

/**
 * Returns the prices of a model for clients. A client takes the first entry that matches its request: an entry
 * without a field matches any value of it, and an entry with a field does not match a request without it. This
 * always yields what `creditsOf` would hold. Lines that no request can reach are left out.
 */
export function shownPrices(
  prices: readonly Price[],
  model: ModelId,
  { sizes }: Pick<Capabilities, 'sizes'>,
): readonly Price[] {
  const own = prices.filter((line) => line.model === model)
  const { defaultSize } = rulesOf(model)
  const isNamed = own.some(({ size }) => size !== undefined && size === defaultSize)
  const shown = isNamed ? withoutDefaultSize(own, sizes, defaultSize) : own
  const reached = new Set(requestsOf(model, sizes).map((request) => lineOf(shown, request)))
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
function requestsOf(model: ModelId, sizes: readonly ImageSize[]) {
  const { qualities } = rulesOf(model)
  return [undefined, ...sizes].flatMap((size) =>
    [undefined, ...qualities].flatMap((quality) =>
      actions.map((action) => ({ model, action, ...defined({ size, quality }) })),
    ),
  )
}
