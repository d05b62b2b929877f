import type { AspectRatio, ImageSize, ModelId } from './models.ts'
import { aspectRatios, pixelSizes } from './models.ts'

/**
 * What one model can do. Data, so that an operator's file overrides it per model (design section 3).
 * `sizes`: accepted values of `size`. `sizeIsSent`: false where the upstream refuses the field, so the
 * only size is accepted and left out. `usualDurationMs` feeds progress only.
 */
export type Capabilities = {
  readonly sizes: readonly ImageSize[]
  readonly sizeIsSent: boolean
  readonly aspectRatios: readonly AspectRatio[]
  readonly usualDurationMs: number
}

export type CapabilityTable = Readonly<Record<ModelId, Capabilities>>

const commonRatios: readonly AspectRatio[] = [
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '21:9',
]

/** Research wire.md section 1 (models) and section 6 (size tiers). */
export const builtInCapabilities: CapabilityTable = {
  'familya-2.5-flash-image': {
    sizes: ['1K'],
    sizeIsSent: false,
    aspectRatios: commonRatios,
    usualDurationMs: 12_000,
  },
  'familya-3.1-flash-lite-image': {
    sizes: ['1K'],
    sizeIsSent: false,
    aspectRatios,
    usualDurationMs: 4_000,
  },
  'familya-3.1-flash-image': {
    sizes: ['1K', '2K', '4K'],
    sizeIsSent: true,
    aspectRatios,
    usualDurationMs: 30_000,
  },
  'familya-3-pro-image': {
    sizes: ['1K', '2K', '4K'],
    sizeIsSent: true,
    aspectRatios: commonRatios,
    usualDurationMs: 15_000,
  },
  'familyb-image-2-web': {
    sizes: pixelSizes,
    sizeIsSent: true,
    aspectRatios: [],
    usualDurationMs: 60_000,
  },
  'familyb-image-2-vip': {
    sizes: pixelSizes,
    sizeIsSent: true,
    aspectRatios: [],
    usualDurationMs: 60_000,
  },
}
