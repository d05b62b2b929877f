import { describe, expect, it } from 'vitest'
import { builtInCapabilities } from '../../src/domain/capabilities.ts'
import type { Price } from '../../src/domain/prices.ts'
import {
  builtInPrices,
  creditsOf,
  priceList,
  unpricedCombinations,
} from '../../src/domain/prices.ts'

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

  it('prices family A without a size as 1K, and family B only by lines without a size', () => {
    const prices = [
      line({ size: '1K', credits: 7 }),
      line({ model: vip, size: '1024x1024', credits: 8 }),
      line({ model: vip, credits: 6 }),
    ]
    expect(creditsOf(prices, { model: pro, action: 'generate', inputImages: 0 })).toBe(7)
    expect(creditsOf(prices, { model: vip, action: 'generate', inputImages: 0 })).toBe(6)
  })

  it('compares the quality when a line has one', () => {
    const prices = [line({ model: vip, quality: 'high', credits: 8 }), line({ model: vip })]
    const request = { model: vip, action: 'generate', inputImages: 0 } as const
    expect(creditsOf(prices, { ...request, quality: 'high' })).toBe(8)
    expect(creditsOf(prices, { ...request, quality: 'auto' })).toBe(1)
  })
})

describe('price lists', () => {
  it("puts the operator's lines before the built-in ones", () => {
    const request = { model: pro, action: 'generate', inputImages: 0 } as const
    expect(creditsOf(priceList([line({ credits: 3 })]), request)).toBe(3)
    expect(creditsOf(priceList([]), request)).toBe(134)
  })

  it('are complete as built in', () => {
    expect(unpricedCombinations(builtInPrices, builtInCapabilities)).toEqual([])
  })

  it('name every reachable combination without a price', () => {
    const prices = [...builtInPrices.filter(({ model }) => model !== pro), line({ size: '4K' })]
    const missing = unpricedCombinations(prices, builtInCapabilities)
    expect(missing).toContain(`${pro} 1K high edit`)
    expect(missing).toContain(`${pro} generate`)
    expect(missing.every((text) => text.startsWith(pro))).toBe(true)
    expect(missing.some((text) => text.includes('4K'))).toBe(false)
  })
})
