import type { AspectRatio, Family, ImageSize, ModelId, Quality, ThinkingLevel } from './models.ts'
import {
  aspectRatios,
  familyOf,
  pixelSizes,
  qualities,
  thinkingLevels,
  tierSizes,
} from './models.ts'

/** What the models of one family have in common for clients, operators and prices. */
export type FamilyRules = {
  /** The values of `size`. A model may support fewer. */
  readonly sizes: readonly ImageSize[]
  /**
   * The size that a model makes when the request has none, and by which such a request is priced. Undefined: the vendor
   * chooses the size.
   */
  readonly defaultSize: ImageSize | undefined
  /** The values of `aspect_ratio`. A model may support fewer. None: a request must not have the field. */
  readonly aspectRatios: readonly AspectRatio[]
  /** The values of `quality`, by which prices may differ. None: the field is allowed and has no effect. */
  readonly qualities: readonly Quality[]
  /** The values of `thinkingLevel`. A model may support fewer. */
  readonly thinkingLevels: readonly ThinkingLevel[]
}

export const familyRules: Readonly<Record<Family, FamilyRules>> = {
  A: { sizes: tierSizes, defaultSize: '1K', aspectRatios, qualities: [], thinkingLevels },
  B: {
    sizes: pixelSizes,
    defaultSize: undefined,
    aspectRatios: [],
    qualities,
    thinkingLevels: [],
  },
}

/** Returns the rules of a model's family. */
export function rulesOf(model: ModelId): FamilyRules {
  return familyRules[familyOf(model)]
}
