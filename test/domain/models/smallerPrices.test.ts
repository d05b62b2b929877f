import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import type { GivenModels } from '../../../src/domain/models/modelTable.ts'
import type { ImageSize } from '../../../src/domain/models/models.ts'
import { contractModels } from '../../../src/domain/models/models.ts'
import type { Price, PricedRequest } from '../../../src/domain/models/prices.ts'
import { creditsOf } from '../../../src/domain/models/prices.ts'
import { smallerPrices } from '../../../src/domain/models/smallerPrices.ts'
import { modelOf } from '../../support/models.ts'

const pro = 'familya-3-pro-image'
const flash = 'familya-3.1-flash-image'
const web = 'familyb-image-2-web'
const vip = 'familyb-image-2-vip'

type Asked = Partial<PricedRequest> & { readonly model: string }

const requestOf = (asked: Asked) => ({ action: 'generate', inputImages: 0, ...asked }) as const

function pricesOf(asked: Asked, given: GivenModels = {}) {
  return smallerPrices(modelOf(asked.model, given), requestOf(asked))
}

/** What an image of so many pixels costs: what a settlement charges. */
function chargeOf(asked: Asked, width: number, height: number, given: GivenModels = {}) {
  const smaller = pricesOf(asked, given).find(({ belowPixels }) => width * height < belowPixels)
  return smaller?.credits ?? creditsOf(modelOf(asked.model, given), requestOf(asked))
}

const priced = (model: Price['model'], ...credits: readonly (readonly [ImageSize, number])[]) =>
  credits.map(([size, price]) => ({ model, size, credits: price, creditsPerInputImage: 0 }))

describe('an image that is smaller than asked', () => {
  it.each<readonly [Asked, width: number, height: number, charge: number]>([
    // The size asked for costs the hold, in every aspect ratio of its tier.
    [{ model: flash, size: '2K' }, 2048, 2048, 101],
    [{ model: flash, size: '2K' }, 2752, 1536, 101],
    [{ model: flash, size: '4K' }, 2048, 8192, 151],
    [{ model: web, size: '3840x2160' }, 2160, 3840, 90],
    // Seven tenths of its pixels are enough, and one pixel less is not.
    [{ model: web, size: '2048x2048' }, 2936013, 1, 60],
    [{ model: web, size: '2048x2048' }, 2936012, 1, 40],
    // 1K whatever was asked for, also at 1:4.
    [{ model: flash, size: '4K' }, 1024, 1024, 67],
    [{ model: flash, size: '4K' }, 512, 2064, 67],
    [{ model: flash, size: '4K' }, 2048, 2048, 101],
    [{ model: pro, size: '4K' }, 1024, 1024, 134],
    [{ model: pro, size: '2K' }, 1024, 1024, 134],
    // Between two sizes the smaller one counts.
    [{ model: web, size: '2048x2048' }, 1254, 1254, 40],
    [{ model: web, size: '3840x2160' }, 2560, 1440, 60],
    [{ model: web, size: '3840x2160' }, 1440, 2560, 60],
    [{ model: web, size: '3840x2160' }, 1254, 1254, 40],
    // A placeholder reaches no size.
    [{ model: web, size: '3840x2160' }, 1, 1, 40],
    [{ model: web, size: '1024x1024' }, 1, 1, 40],
    // 2048x2048 costs more than 3840x2160 here, and nothing costs more than the hold.
    [{ model: vip, size: '3840x2160', quality: 'medium' }, 2560, 1440, 101],
    [{ model: vip, size: '3840x2160', quality: 'medium' }, 1254, 1254, 53],
    [{ model: vip, size: '3840x2160' }, 1254, 1254, 211],
    [{ model: vip, size: '2048x2048' }, 1254, 1254, 211],
    // Source images cost the same with every size.
    [{ model: web, size: '3840x2160', action: 'edit', inputImages: 2 }, 1254, 1254, 48],
    // Without a size, family A makes 1K, and the vendor chooses in family B.
    [{ model: flash }, 512, 512, 67],
    [{ model: web }, 1, 1, 40],
    [{ model: vip, quality: 'high' }, 16, 16, 211],
  ])('of %j, with %i x %i pixels, costs %i credits [money-13]', (asked, width, height, charge) => {
    expect(chargeOf(asked, width, height)).toBe(charge)
  })

  it('costs the cheaper one of two sizes with as many pixels', () => {
    const prices = priced(web, ['2K', 50], ['2048x2048', 60], ['3840x2160', 90])
    const asked = { model: web, size: '3840x2160' } as const
    for (const sizes of [
      ['2K', '2048x2048', '3840x2160'],
      ['2048x2048', '2K'],
    ] as const) {
      expect(pricesOf(asked, { prices, capabilities: { [web]: { sizes } } })).toEqual([
        { belowPixels: 5806080, credits: 50 },
      ])
    }
  })

  it('costs the hold where a smaller size costs as much or more, and less where a still smaller one does', () => {
    const prices = priced(flash, ['1K', 70], ['2K', 40], ['4K', 60])
    const asked = { model: flash, size: '4K' } as const
    expect(pricesOf(asked, { prices })).toEqual([
      { belowPixels: 2936013, credits: 60 },
      { belowPixels: 11744052, credits: 40 },
    ])
    expect(chargeOf(asked, 1024, 1024, { prices })).toBe(60)
    expect(chargeOf(asked, 2048, 2048, { prices })).toBe(40)
  })

  it('costs what a size costs that the model has, and never that of another', () => {
    const capabilities = { [web]: { sizes: ['2048x2048', '3840x2160'] } }
    expect(pricesOf({ model: web, size: '3840x2160' }, { capabilities })).toEqual([
      { belowPixels: 5806080, credits: 60 },
    ])
    expect(pricesOf({ model: web, size: '2048x2048' }, { capabilities })).toEqual([])
  })
})

it('nothing is written for a request whose image costs the same in every size', () => {
  const asked = contractModels.flatMap((model) =>
    [undefined, ...modelOf(model).sizes].map((size) => ({
      model,
      ...defined({ size }),
    })),
  )
  const written = asked.filter((one) => pricesOf(one).length > 0)
  expect(written).toEqual([
    { model: flash, size: '2K' },
    { model: flash, size: '4K' },
    { model: pro, size: '4K' },
    { model: web, size: '2048x2048' },
    { model: web, size: '3840x2160' },
    { model: vip, size: '2048x2048' },
    { model: vip, size: '3840x2160' },
  ])
})
