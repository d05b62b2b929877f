import { describe, expect, it } from 'vitest'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import type { Price } from '../../src/domain/models/prices.ts'
import { creditsOf } from '../../src/domain/models/prices.ts'
import { requestsOf, shownPrices } from '../../src/domain/models/shownPrices.ts'

type ShownCredits = (model: object, request: object, images: number) => number | undefined

/** The function that the page runs. It is JavaScript, so it is loaded by its path. */
const pageModels: { readonly creditsOf: ShownCredits } = await import(
  new URL('../../src/web/playground/form/models.js', import.meta.url).href
)

const operatorPrices: readonly Price[] = [
  { model: 'familya-3-pro-image', size: '1K', credits: 7, creditsPerInputImage: 2 },
  { model: 'familya-3-pro-image', action: 'edit', credits: 9, creditsPerInputImage: 0 },
  {
    model: 'familyb-image-2-web',
    quality: 'low',
    action: 'edit',
    credits: 1,
    creditsPerInputImage: 3,
  },
]

describe('the price that the playground shows', () => {
  it.each([
    ['built-in prices', []],
    ['prices of an operator', operatorPrices],
  ])('is what a submit holds, for every request: %s', (_what, prices) => {
    for (const model of createModelTable({ prices }).values()) {
      const shown = shownPrices(model).map(({ creditsPerInputImage, ...line }) => ({
        ...line,
        credits_per_input_image: creditsPerInputImage,
      }))
      for (const request of requestsOf(model)) {
        const inputImages = request.action === 'edit' ? 3 : 0
        const held = creditsOf(model, { ...request, inputImages })
        expect([request, pageModels.creditsOf({ prices: shown }, request, 3)]).toEqual([
          request,
          held,
        ])
      }
    }
  })
})
