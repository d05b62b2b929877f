import type { AspectRatio, ContractModel, ImageSize, ThinkingLevel } from './models.ts'
import { aspectRatios, pixelSizes, thinkingLevels } from './models.ts'

/** What one model takes and how long it takes. The operator's file can override it for each model. */
export type Capabilities = {
  /** The accepted values of `size`. */
  readonly sizes: readonly ImageSize[]
  /**
   * Whether the size is sent upstream. False if the upstream does not accept the field: clients may still
   * send the model's only size, but we do not pass it on.
   */
  readonly sizeIsSent: boolean
  readonly aspectRatios: readonly AspectRatio[]
  /** The accepted values of `thinkingLevel`. None: the model refuses every `thinkingConfig`. */
  readonly thinkingLevels: readonly ThinkingLevel[]
  /** The usual duration of one call, for `progress` and estimates. */
  readonly usualDurationMs: number
}

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

/**
 * The capabilities that apply when the operator's file does not override them. They come from the vendors'
 * model pages. Gemini 2.5 answers 400 to any thinking, 3.1 to every level but two
 * (https://ai.google.dev/gemini-api/docs/image-generation).
 */
export const builtInCapabilities: Readonly<Record<ContractModel, Capabilities>> = {
  'familya-2.5-flash-image': {
    sizes: ['1K'],
    sizeIsSent: false,
    aspectRatios: commonRatios,
    thinkingLevels: [],
    usualDurationMs: 12_000,
  },
  'familya-3.1-flash-lite-image': {
    sizes: ['1K'],
    sizeIsSent: false,
    aspectRatios,
    thinkingLevels,
    usualDurationMs: 4_000,
  },
  'familya-3.1-flash-image': {
    sizes: ['1K', '2K', '4K'],
    sizeIsSent: true,
    aspectRatios,
    thinkingLevels: ['MINIMAL', 'HIGH'],
    usualDurationMs: 30_000,
  },
  'familya-3-pro-image': {
    sizes: ['1K', '2K', '4K'],
    sizeIsSent: true,
    aspectRatios: commonRatios,
    thinkingLevels,
    usualDurationMs: 15_000,
  },
  'familyb-image-2-web': {
    sizes: pixelSizes,
    sizeIsSent: true,
    aspectRatios: [],
    thinkingLevels: [],
    usualDurationMs: 60_000,
  },
  'familyb-image-2-vip': {
    sizes: pixelSizes,
    sizeIsSent: true,
    aspectRatios: [],
    thinkingLevels: [],
    usualDurationMs: 60_000,
  },
}

/** The capabilities that the operator's file gives a model. An absent field keeps the built-in value. */
export type CapabilityOverride = {
  readonly [Field in keyof Capabilities]?: Capabilities[Field] | undefined
}

/** Returns capabilities, replaced by the operator's values where there are any. */
export function overrideCapabilities(
  builtIn: Capabilities,
  override: CapabilityOverride,
): Capabilities {
  const given = Object.entries(override).filter(([, value]) => value !== undefined)
  const sizeIsSent = builtIn.sizeIsSent || addsSize(builtIn, override.sizes)
  return { ...builtIn, sizeIsSent, ...Object.fromEntries(given) }
}

/**
 * Returns whether the operator offers a size that is not built in. If so, the size must be sent upstream. If it
 * were not sent, the model would make its default size, and the client would pay for the size it asked for.
 */
function addsSize(builtIn: Capabilities, sizes: readonly ImageSize[] = []): boolean {
  return sizes.some((size) => !builtIn.sizes.includes(size))
}
