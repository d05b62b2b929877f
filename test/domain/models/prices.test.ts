import { describe, expect, it } from 'vitest'
import { modelIds } from '../../../src/domain/models/models.ts'
import type { Price } from '../../../src/domain/models/prices.ts'
import { builtInPrices, creditsOf } from '../../../src/domain/models/prices.ts'

const pro = 'familya-3-pro-image'
const vip = 'familyb-image-2-vip'
const line = (given: Partial<Price>): Price => ({
  model: pro,
  credits: 1,
  creditsPerInputImage: 0,
  ...given,
})

describe('creditsOf', () => {
  it('takes the first line that applies; a line without a field applies to all its values', () => {
    const prices = [
      line({ model: vip, credits: 9 }),
      line({ size: '4K', action: 'edit', credits: 5 }),
      line({ size: '4K', credits: 4 }),
      line({ credits: 2 }),
    ]
    const request = { model: pro, action: 'generate', inputImages: 0 } as const
    expect(creditsOf(prices, { ...request, size: '4K', action: 'edit' })).toBe(5)
    expect(creditsOf(prices, { ...request, size: '4K' })).toBe(4)
    expect(creditsOf(prices, { ...request, size: '2K' })).toBe(2)
  })

  it('adds the price of each source image', () => {
    const prices = [line({ credits: 10, creditsPerInputImage: 3 })]
    expect(creditsOf(prices, { model: pro, action: 'edit', inputImages: 16 })).toBe(58)
  })
})

it('every model has a built-in price, whatever a request asks for', () => {
  for (const model of modelIds) {
    const request = { model, action: 'edit', inputImages: 1 } as const
    expect(creditsOf(builtInPrices, request)).toBeGreaterThan(0)
  }
})
