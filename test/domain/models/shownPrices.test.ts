import { array, assert, constantFrom, nat, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { actions, pixelSizes, qualities, tierSizes } from '../../../src/domain/models/models.ts'
import type { Price } from '../../../src/domain/models/prices.ts'
import { creditsOf } from '../../../src/domain/models/prices.ts'
import { requestsOf, shownPrices } from '../../../src/domain/models/shownPrices.ts'

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
const models = [...createModelTable().values()].filter(({ sizes }) => sizes.length > 1)
const line = record({
  model: constantFrom(...models.map(({ id }) => id)),
  size: some(...tierSizes, ...pixelSizes),
  quality: some(...qualities),
  action: some(...actions),
  credits: nat(500),
  creditsPerInputImage: nat(9),
})

describe('the shown prices', () => {
  it('are what a submit holds, for every price list and every request [account-4]', () => {
    assert(
      property(array(line, { maxLength: 12 }), (prices) => {
        for (const model of createModelTable({ prices }).values()) {
          const shown = shownPrices(model)
          for (const asked of requestsOf(model)) {
            const request: Request = { ...asked, inputImages: 3 }
            expect(found(shown, request)).toBe(creditsOf(model, request))
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
