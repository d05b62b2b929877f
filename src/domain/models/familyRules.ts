import type { AspectRatio, Family, ImageSize, Quality, ThinkingLevel } from './models.ts'
import { aspectRatios, qualities, thinkingLevels } from './models.ts'

/** What the models of one family have in common for clients, operators and prices. */
export type FamilyRules = {
  /** The form of `size`. */
  readonly sizeForm: RegExp
  /** The form of `size` for readers. */
  readonly sizeFormText: string
  /**
   * The size that a model makes when the request has none, and by which such a request is priced. Undefined: the vendor
   * chooses the size.
   */
  readonly defaultSize: ImageSize | undefined
  /** The usual values of `aspect_ratio`. None: a request must not have the field. */
  readonly aspectRatios: readonly AspectRatio[]
  /** The usual values of `quality`, by which prices may differ. None: the field is allowed and has no effect. */
  readonly qualities: readonly Quality[]
  /** The values of `thinkingLevel`. A model may support fewer. */
  readonly thinkingLevels: readonly ThinkingLevel[]
}

export const familyRules: Readonly<Record<Family, FamilyRules>> = {
  A: {
    sizeForm: /^(?:512|[124]K)$/,
    sizeFormText: '512, 1K, 2K, 4K',
    defaultSize: '1K',
    aspectRatios,
    qualities: [],
    thinkingLevels,
  },
  B: {
    sizeForm: /^[1-9]\d{1,4}x[1-9]\d{1,4}$/,
    sizeFormText: 'sizes in pixels, such as 1536x1024',
    defaultSize: undefined,
    aspectRatios: [],
    qualities,
    thinkingLevels: [],
  },
}
