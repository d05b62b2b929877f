export const families = ['A', 'B'] as const
export type Family = (typeof families)[number]

/** Makes a record with one value for each family. */
export function byFamily<Value>(valueOf: (family: Family) => Value): Record<Family, Value> {
  return { A: valueOf('A'), B: valueOf('B') }
}

/** The public model names of each family. Requests with any other name are not accepted. */
export const modelsOf = {
  A: [
    'familya-2.5-flash-image',
    'familya-3.1-flash-lite-image',
    'familya-3.1-flash-image',
    'familya-3-pro-image',
  ],
  B: ['familyb-image-2-web', 'familyb-image-2-vip'],
} as const satisfies Readonly<Record<Family, readonly string[]>>
export type ModelOf<Each extends Family> = (typeof modelsOf)[Each][number]
export type ModelId = ModelOf<Family>
export const modelIds: readonly ModelId[] = families.flatMap<ModelId>((family) => modelsOf[family])

export const tierSizes = ['1K', '2K', '4K'] as const
export const pixelSizes = ['1024x1024', '2048x2048', '3840x2160'] as const
export const imageSizes = [...tierSizes, ...pixelSizes] as const
export type ImageSize = (typeof imageSizes)[number]

/** How many pixels an image of each size has. A tier is a square. */
export const pixelsOf: Readonly<Record<ImageSize, number>> = {
  '1K': 1024 * 1024,
  '2K': 2048 * 2048,
  '4K': 4096 * 4096,
  '1024x1024': 1024 * 1024,
  '2048x2048': 2048 * 2048,
  '3840x2160': 3840 * 2160,
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

const familyByModel: ReadonlyMap<string, Family> = new Map(
  families.flatMap((family) => modelsOf[family].map((model) => [model, family])),
)

/** Returns the family of a model. */
export function familyOf(model: ModelId): Family {
  const family = familyByModel.get(model)
  if (family === undefined) throw new Error(`Bug: no family has the model ${model}`)
  return family
}
