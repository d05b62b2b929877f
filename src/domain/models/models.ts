export const families = ['A', 'B'] as const
export type Family = (typeof families)[number]

/** Makes a record with one value for each family. */
export function byFamily<Value>(valueOf: (family: Family) => Value): Record<Family, Value> {
  return { A: valueOf('A'), B: valueOf('B') }
}

/** The public model names of the API contract. The operator's file adds others (`modelTable.ts`). */
export const modelsOf = {
  A: [
    'familya-2.5-flash-image',
    'familya-3.1-flash-lite-image',
    'familya-3.1-flash-image',
    'familya-3-pro-image',
  ],
  B: ['familyb-image-2-web', 'familyb-image-2-vip'],
} as const satisfies Readonly<Record<Family, readonly string[]>>
export type ContractModel = (typeof modelsOf)[Family][number]
export const contractModels: readonly ContractModel[] = families.flatMap<ContractModel>(
  (family) => modelsOf[family],
)

/** Returns whether the API contract names this model, so that every channel of its family takes it. */
export function isContractModel(model: ModelId): boolean {
  return contractModels.some((each) => each === model)
}

/** The form of an operator's public model name, which the contract's names have too. */
export const modelForm = /^[a-z0-9][a-z0-9._-]{0,63}$/
export const modelFormText = '1 to 64 of a-z, 0-9, . _ - and begins with a letter or digit'

/** The public name of a model. A row of PostgreSQL may have one that this process does not know. */
export type ModelId = string

/** The sizes of the contract's models. */
export const tierSizes = ['1K', '2K', '4K'] as const
export const pixelSizes = ['1024x1024', '2048x2048', '3840x2160'] as const
/** A size in the form of its family: `1K`, or `1024x1024`. */
export type ImageSize = string

/** Returns how many pixels an image of a size has. A tier is a square, and `512` is half as wide as `1K`. */
export function pixelsOf(size: ImageSize): number {
  const [width = 0, height = width] = size.split('x').map((side) => sideOf(side))
  return width * height
}

function sideOf(text: string): number {
  return text.endsWith('K') ? Number(text.slice(0, -1)) * 1024 : Number(text)
}

/** The aspect ratios of the contract's models. */
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
export const aspectRatioForm = /^[1-9]\d?:[1-9]\d?$/
export type AspectRatio = string

/** The qualities of the contract's models, and those that only an operator's model may take. */
export const qualities = ['low', 'medium', 'high', 'auto'] as const
export const allQualities = [...qualities, 'xhigh', 'max'] as const
export type Quality = string

/** The values of `thinkingLevel` on the v1beta routes, besides `THINKING_LEVEL_UNSPECIFIED`. */
export const thinkingLevels = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
export type ThinkingLevel = (typeof thinkingLevels)[number]

export const actions = ['generate', 'edit'] as const
export type Action = (typeof actions)[number]

export const inputMimeTypes = ['image/png', 'image/jpeg', 'image/webp'] as const
export type ImageMimeType = (typeof inputMimeTypes)[number]
