import { describe, expect, it } from 'vitest'
import { usualDurationMs } from '../../../src/domain/models/modelTable.ts'
import { pixelsOf } from '../../../src/domain/models/models.ts'
import { smallerPrices } from '../../../src/domain/models/smallerPrices.ts'
import { modelOf } from '../../support/models.ts'

const flash = 'familya-2.5-flash-image'
const price = { model: 'house', credits: 90, creditsPerInputImage: 0 }

describe('a model of the operator', () => {
  it('is as the model that it is like, except for its name and its prices', () => {
    const house = modelOf('house', { models: [{ name: 'house', like: flash }], prices: [price] })
    expect(house).toEqual({ ...modelOf(flash), id: 'house', prices: [price] })
  })

  it('is as the file says, and sends a size of its own', () => {
    const own = { sizes: ['512', '1K'], aspect_ratios: ['9:21'], retired: true }
    const given = {
      models: [{ name: 'house', like: flash, ...own }],
      capabilities: { house: { usualDurationMs: 5 } },
    } as const
    const said = { sizes: own.sizes, aspectRatios: ['9:21'], sizeIsSent: true, retired: true }
    expect(modelOf('house', given)).toMatchObject({ ...said, usualDurationMs: 5 })
    expect(modelOf(flash, given)).toEqual(modelOf(flash))
  })

  it('costs less when its image is smaller, also in sizes that only it has', () => {
    const models = [
      { name: 'house', like: 'familyb-image-2-vip', sizes: ['1024x1024', '1536x1024'] },
    ] as const
    const prices = [{ ...price, size: '1024x1024', credits: 60 }, price]
    const asked = { size: '1536x1024', action: 'generate', inputImages: 0 } as const
    expect(smallerPrices(modelOf('house', { models, prices }), asked)).toEqual([
      { belowPixels: Math.ceil(1536 * 1024 * 0.7), credits: 60 },
    ])
  })
})

it.each([
  ['512', 512 * 512],
  ['4K', 4096 * 4096],
  ['1536x1024', 1536 * 1024],
])('a size of %s has %i pixels', (size, pixels) => {
  expect(pixelsOf(size)).toBe(pixels)
})

it('the progress of a task needs no model in the table', () => {
  expect(usualDurationMs(new Map(), 'gone')).toBeGreaterThan(1_000)
})
