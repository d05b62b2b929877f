import type { Capabilities } from './capabilities.ts'
import { defined } from '../defined.ts'
import type { ImageSize, ModelId } from './models.ts'
import { actions, familyOf, qualities } from './models.ts'
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
  const hasDefault = familyOf(model) === 'A' && own.some((line) => line.size === defaultSize)
  const shown = hasDefault ? withoutDefaultSize(own, sizes) : own
  const reached = new Set(requestsOf(model, sizes).map((request) => lineOf(shown, request)))
  return shown.filter((line) => reached.has(line))
}

/** A family A request without a size costs as much as one with this size. Family B has no such size. */
const defaultSize = '1K'

/**
 * Returns lines that charge the same as the given ones, but none of them names `defaultSize`: a client would not find
 * such a line for a request without a size. The lines of the other sizes come first, each with its size. So the lines
 * without a size, which follow, apply only to requests for `defaultSize` and to requests without a size.
 */
function withoutDefaultSize(
  lines: readonly Price[],
  sizes: readonly ImageSize[],
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
  // A quality has no effect in family A, and is not part of its requests.
  const given = familyOf(model) === 'A' ? [] : qualities
  return [undefined, ...sizes].flatMap((size) =>
    [undefined, ...given].flatMap((quality) =>
      actions.map((action) => ({ model, action, ...defined({ size, quality }) })),
    ),
  )
}
