/** The public model names. Requests with any other name are not accepted. */
export const familyAModels = [
  'familya-2.5-flash-image',
  'familya-3.1-flash-lite-image',
  'familya-3.1-flash-image',
  'familya-3-pro-image',
] as const
export const familyBModels = ['familyb-image-2-web', 'familyb-image-2-vip'] as const
export const modelIds = [...familyAModels, ...familyBModels] as const

export type FamilyAModel = (typeof familyAModels)[number]
export type ModelId = (typeof modelIds)[number]
export const families = ['A', 'B'] as const
export type Family = (typeof families)[number]

export const tierSizes = ['1K', '2K', '4K'] as const
export const pixelSizes = ['1024x1024', '2048x2048', '3840x2160'] as const
export const imageSizes = [...tierSizes, ...pixelSizes] as const
export type ImageSize = (typeof imageSizes)[number]

/** The values of `size` in the API of each family. A model may support fewer. */
export const sizesOf: Readonly<Record<Family, readonly ImageSize[]>> = {
  A: tierSizes,
  B: pixelSizes,
}

export const aspectRatios = [
  '1:1',
  '1:4',
  '1:8',
  '2:3',
  '3:2',
  '3:4',
  '4:1',
  '4:3',
  '4:5',
  '5:4',
  '8:1',
  '9:16',
  '16:9',
  '21:9',
] as const
export type AspectRatio = (typeof aspectRatios)[number]

export const qualities = ['low', 'medium', 'high', 'auto'] as const
export type Quality = (typeof qualities)[number]

/** The values of `thinkingLevel` on the v1beta routes, besides `THINKING_LEVEL_UNSPECIFIED`. */
export const thinkingLevels = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
export type ThinkingLevel = (typeof thinkingLevels)[number]

export const actions = ['generate', 'edit'] as const
export type Action = (typeof actions)[number]

export const inputMimeTypes = ['image/png', 'image/jpeg', 'image/webp'] as const
export type ImageMimeType = (typeof inputMimeTypes)[number]

/** Returns whether a text is a public model name. */
export function isModelId(value: string): value is ModelId {
  return modelIds.some((modelId) => modelId === value)
}

/** Returns the family of a model, which is part of the model's name. */
export function familyOf(model: ModelId): Family {
  return model.startsWith('familya-') ? 'A' : 'B'
}
