import { array, assert, constantFrom, nat, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import { builtInCapabilities } from '../../../src/domain/models/capabilities.ts'
import {
  actions,
  familyOf,
  imageSizes,
  modelIds,
  qualities,
} from '../../../src/domain/models/models.ts'
import type { Price } from '../../../src/domain/models/prices.ts'
import { builtInPrices, creditsOf, priceList } from '../../../src/domain/models/prices.ts'
import { shownPrices } from '../../../src/domain/models/shownPrices.ts'

type Request = Parameters<typeof creditsOf>[1]

/** Finds a price as the description of `GET /v1/models` says. */
function found(shown: readonly Price[], request: Request): number | undefined {
  const price = shown.find((entry) =>
    (['size', 'quality', 'action'] as const).every(
      (field) => entry[field] === undefined || entry[field] === request[field],
    ),
  )
  return price && price.credits + price.creditsPerInputImage * request.inputImages
}

const some = <Value>(...values: readonly Value[]) => constantFrom(undefined, ...values)
const modelsWithSizes = modelIds.filter((model) => builtInCapabilities[model].sizes.length > 1)
const line = record({
  model: constantFrom(...modelsWithSizes),
  size: some(...imageSizes),
  quality: some(...qualities),
  action: some(...actions),
  credits: nat(500),
  creditsPerInputImage: nat(9),
})

describe('the shown prices', () => {
  it('are what a submit holds, for every price list and every request [account-4]', () => {
    assert(
      property(array(line, { maxLength: 12 }), (operatorPrices) => {
        const prices = priceList(operatorPrices)
        for (const model of modelIds) {
          const { sizes } = builtInCapabilities[model]
          const shown = shownPrices(prices, model, { sizes })
          for (const size of [undefined, ...sizes])
            for (const quality of familyOf(model) === 'A' ? [undefined] : [undefined, ...qualities])
              for (const action of actions) {
                const request: Request = {
                  model,
                  action,
                  inputImages: 3,
                  ...defined({ size, quality }),
                }
                expect(found(shown, request)).toBe(creditsOf(prices, request))
              }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('leave out lines that no request can reach', () => {
    const model = 'familya-3-pro-image'
    const flat: Price = { model, credits: 5, creditsPerInputImage: 0 }
    const capabilities = builtInCapabilities[model]
    expect(shownPrices([flat, ...builtInPrices], model, capabilities)).toEqual([flat])
  })
})
