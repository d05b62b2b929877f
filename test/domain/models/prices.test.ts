import { describe, expect, it } from 'vitest'
import { contractModels } from '../../../src/domain/models/models.ts'
import type { Price } from '../../../src/domain/models/prices.ts'
import { creditsOf } from '../../../src/domain/models/prices.ts'
import { modelOf } from '../../support/models.ts'

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
    const model = modelOf(pro, { prices })
    const request = { action: 'generate', inputImages: 0 } as const
    expect(creditsOf(model, { ...request, size: '4K', action: 'edit' })).toBe(5)
    expect(creditsOf(model, { ...request, size: '4K' })).toBe(4)
    expect(creditsOf(model, { ...request, size: '2K' })).toBe(2)
  })

  it('adds the price of each source image', () => {
    const model = modelOf(pro, { prices: [line({ credits: 10, creditsPerInputImage: 3 })] })
    expect(creditsOf(model, { action: 'edit', inputImages: 16 })).toBe(58)
  })
})

it('every model has a built-in price, whatever a request asks for', () => {
  for (const id of contractModels) {
    expect(creditsOf(modelOf(id), { action: 'edit', inputImages: 1 })).toBeGreaterThan(0)
  }
})
